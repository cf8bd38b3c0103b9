package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/redact"
)

// lookEvery is the time between two looks at the files. Polling needs no library, and works in every file system and container.
const lookEvery = 200 * time.Millisecond

// watch gives a worker in development mode each new configuration. It belongs to one goroutine.
type watch struct {
	path string
	o    Options
	hide *redact.Redactor
	out  io.Writer
	// reconfigure is that of the worker's plugin, and reload is [agentWorker.reload].
	reconfigure func(context.Context, reagent.Options) (reagent.Reconfigured, error)
	reload      func(ctx context.Context, selected func(agents.Entry) bool, tell func(string))

	cfg *config.Config
	// taken is what the files contained when they were last read, and seen what they contained at the last look. A file that is still being
	// written is not read. Both are nil at first, because the files may have changed while the worker started.
	taken, seen contents
	// mistakes is the text of the mistakes for which the worker still has the earlier configuration; empty if there are none. If again is set,
	// a file may be missing that no look sees, so the configuration is read at each look.
	mistakes string
	again    bool
}

// contents has a hash of each file. A file that cannot be read has the zero hash.
type contents map[string][sha256.Size]byte

func read(files []string) contents {
	all := contents{}
	for _, file := range files {
		all[file] = [sha256.Size]byte{}
		if data, err := readBounded(file); err == nil {
			all[file] = sha256.Sum256(data)
		}
	}
	return all
}

// readBounded reads one byte more than a configuration may have, so that a longer file is another one, too.
func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, config.MaxFileSize+1))
}

func newWatch(w *agentWorker, path string, o Options, hide *redact.Redactor, out io.Writer) *watch {
	return &watch{path: path, o: o, hide: hide, out: out, reconfigure: w.agents.Reconfigure, reload: w.reload, cfg: w.cfg}
}

// start begins to watch. The returned function ends it, and waits until it has ended.
func (w *watch) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.reload(ctx, w.serves, w.tell) // the configuration may have changed while no worker ran
		for tick := time.NewTicker(lookEvery); ; {
			select {
			case <-tick.C:
				w.look(ctx)
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// look takes the configuration if a file has changed and is not being written.
func (w *watch) look(ctx context.Context) {
	now := read(w.cfg.Files())
	stable := maps.Equal(now, w.seen)
	w.seen = now
	changed := !maps.Equal(now, w.taken)
	if !stable || !changed && !w.again {
		return
	}
	names := w.changed(now)
	w.taken = now
	cfg, err := load(w.path, w.o)
	if w.again = err != nil; err != nil {
		w.refuse(names, err)
		return
	}
	if reflect.DeepEqual(cfg, w.cfg) {
		if w.mistakes != "" {
			w.tell(w.path + " has no mistakes any more, and is the configuration that the worker has")
		}
		w.mistakes = ""
		return
	}
	w.take(ctx, names, cfg)
}

func (w *watch) changed(now contents) string {
	var names []string
	for _, file := range slices.Sorted(maps.Keys(now)) {
		if now[file] != w.taken[file] {
			names = append(names, file)
		}
	}
	if len(names) == 0 {
		return w.path
	}
	return strings.Join(names, ", ")
}

// refuse says why the worker goes on with what it had. It says so once.
func (w *watch) refuse(names string, err error) {
	if text := w.hide.Text(err.Error()); text != w.mistakes {
		w.mistakes = text
		w.tell(names + " has changed and cannot be used; the worker goes on with what it had:\n" + text)
	}
}

// take gives the worker a new configuration, and asks the running agents whose definitions have changed to reload.
func (w *watch) take(ctx context.Context, names string, cfg *config.Config) {
	fixed := keep(cfg, w.cfg)
	w.hide.Add(redact.OnlyRandom(cfg.Secrets())...)
	options, err := agentOptions(cfg, w.o)
	var done reagent.Reconfigured
	if err == nil {
		done, err = w.reconfigure(ctx, options)
	}
	if err != nil {
		if ctx.Err() == nil {
			w.refuse(names, err)
		}
		return
	}
	w.cfg, w.mistakes = cfg, ""
	w.taken = merged(read(cfg.Files()), w.taken)
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"new definition", done.Changed}, {"new agent", done.Added}, {"no longer served", done.Removed}} {
		if len(part.names) > 0 {
			parts = append(parts, part.what+": "+listed(part.names))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no definition has changed"}
	}
	w.tell(names + " has changed; " + strings.Join(parts, "; "))
	if len(fixed) > 0 {
		w.tell("Restart the worker to use what has changed in " + strings.Join(fixed, ", "))
	}
	if len(done.Changed) > 0 {
		w.reload(ctx, func(e agents.Entry) bool { return slices.Contains(done.Changed, e.Agent) }, w.tell)
	}
}

func (w *watch) serves(e agents.Entry) bool {
	_, served := w.cfg.Agents[e.Agent]
	return served
}

func (w *watch) tell(text string) { fmt.Fprintln(w.out, w.hide.Text(text)) }

// merged returns the hashes of the files of a new configuration. Those that were known before it was read count, so that a change meanwhile
// is seen.
func merged(now, before contents) contents {
	for file := range now {
		if known, ok := before[file]; ok {
			now[file] = known
		}
	}
	return now
}

// keep sets what a running worker cannot change to what it was, and returns the names of the fields that would have changed.
func keep(cfg, old *config.Config) (fixed []string) {
	if cfg.TaskQueue != old.TaskQueue {
		cfg.TaskQueue, fixed = old.TaskQueue, append(fixed, "task_queue")
	}
	if !reflect.DeepEqual(cfg.Callbacks, old.Callbacks) {
		cfg.Callbacks, fixed = old.Callbacks, append(fixed, "callbacks")
	}
	if cfg.UI != old.UI {
		cfg.UI, fixed = old.UI, append(fixed, "ui")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		m, before := cfg.Models[name], old.Models[name]
		if before.Model != "" && m.RequestsPerMinute != before.RequestsPerMinute {
			m.RequestsPerMinute = before.RequestsPerMinute
			cfg.Models[name], fixed = m, append(fixed, "models."+name+".rate.requests_per_minute")
		}
	}
	return fixed
}
