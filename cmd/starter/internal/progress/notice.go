package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// StartWorker is the command that error texts recommend to start a worker.
const StartWorker = "go run ./cmd/worker --config agents.yaml"

// Silence is how long a problem must last before the user is informed. Most problems end sooner.
const Silence = 2 * time.Second

// Notice tells a user who waits for an agent why the agent does not go on. The problem is one of three: no worker answers,
// Temporal does not answer, or a failed call is tried again. A Notice reports a problem when the problem has lasted for
// the time [Silence]. It reports each problem once, and each attempt at a failed call once. It also reports when a worker or
// Temporal answers again. A Notice is safe for concurrent use.
type Notice struct {
	out io.Writer
	// Queue is the task queue on which a worker is to answer.
	Queue string
	// ID is the agent's ID for commands in the reports. It may be empty.
	ID string
	// first is the timer for the first report. It reports a missing worker if the command has had no answer after [Silence].
	first *time.Timer
	// Limit is how long the command waits for a worker; 0 means no limit.
	Limit time.Duration
	// live shows what the agent works on. If it is nil, the Notice writes lines to `out` instead.
	live *preview

	mu    sync.Mutex
	kind  trouble
	since time.Time     // when the trouble began
	told  string        // tells whether a report is news: see [Notice.print]; empty before the first report
	tried *client.Retry // the call that is tried again
	asks  bool          // a call waits for somebody outside, and the user was told
	work  work
	// reported is when [Notice.report] last wrote a line or had no work to show. The next line follows when the time
	// [reportEvery] has passed since then.
	reported time.Time
}

type trouble string

const (
	noTrouble trouble = ""
	noWorker  trouble = "no worker"
	noServer  trouble = "no server"
	retrying  trouble = "retrying"
)

// NewNotice returns the Notice of a command that waits for a worker on the given task queue. The command waits at
// most for the time `limit`; 0 means no limit. If nothing answers within the time [Silence], the Notice reports that no
// worker has answered. The caller must call [Notice.Stop].
func NewNotice(stderr io.Writer, queue string, limit time.Duration) *Notice {
	now := time.Now()
	p := &Notice{out: stderr, Queue: queue, Limit: limit, kind: noWorker, since: now, reported: now, work: work{since: now}}
	p.first = time.AfterFunc(Silence, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.print()
	})
	return p
}

// Stop stops the timer of the first report, which says that no worker has answered. It may be called several times.
func (p *Notice) Stop() { p.first.Stop() }

// Over ends the current problem. It must be called when a worker has answered. If the user was told that no worker answers,
// or that Temporal does not answer, Over reports the end of this problem.
func (p *Notice) Over() {
	p.first.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(noTrouble)
}

// Update tells the user what the agent works on. It also reports a problem that has lasted for the time [Silence]. It reports
// one problem at once: the worker has no definition of the agent. Update must be called with every [client.Progress] that
// [client.Client.Watch] yields.
func (p *Notice) Update(progress client.Progress) {
	if silent(progress) {
		return
	}
	p.first.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report(progress)
	p.tellOutside(progress)
	switch {
	case progress.NoServer:
		p.turn(noServer)
	case progress.NoWorker:
		p.turn(noWorker)
	case progress.Retry != nil:
		p.tried = progress.Retry
		p.turn(retrying)
	default:
		p.turn(noTrouble)
		return
	}
	// Report an unknown agent at once. The usual cause is a mistyped name, and waiting does not help then.
	if time.Since(p.since) >= Silence || p.kind == retrying && p.tried.Class == protocol.UnknownAgent {
		p.print()
	}
}

// report shows what the agent works on. On a terminal, it uses the preview. Otherwise, it writes a line to `p.out`, at most
// one in each period of [reportEvery]. The caller must hold `p.mu`.
func (p *Notice) report(progress client.Progress) {
	now := time.Now()
	text := p.work.line(progress, now)
	if p.live != nil {
		p.live.update(progress, text)
		return
	}
	unserved := progress.Retry != nil && progress.Retry.Unserved() // print says so once
	if progress.Message != nil || text == "" || unserved {
		p.reported = now
	} else if now.Sub(p.reported) >= reportEvery {
		p.reported = now
		fmt.Fprintln(p.out, "Waiting for "+text)
	}
}

var outsideText = map[client.WaitsFor]string{
	client.WaitsForApproval: "The agent waits for a decision on a call: see `starter inbox`, then `starter approve` or `starter deny`.",
	client.WaitsForAnswer:   "The agent asks a question: see `starter inbox`, then `starter answer`.",
	client.WaitsForResult:   "The agent waits for a result from outside: see `starter inbox`; `starter complete` gives it.",
}

// The caller must hold `p.mu`.
func (p *Notice) tellOutside(progress client.Progress) {
	waits := client.CallWaits(progress.WaitsFor)
	if waits && !p.asks {
		fmt.Fprintln(p.out, outsideText[progress.WaitsFor])
	}
	if progress.Status != "" {
		p.asks = waits
	}
}

// turn sets the current problem to the given kind; [noTrouble] means that there is no problem. If the user was told that a
// worker or Temporal does not answer, and this problem has ended, turn reports its end. The caller must hold `p.mu`.
func (p *Notice) turn(kind trouble) {
	if kind == p.kind {
		return
	}
	if p.told != "" {
		switch p.kind {
		case noWorker:
			if kind != noServer {
				fmt.Fprintln(p.out, "A worker answers.")
			}
		case noServer:
			fmt.Fprintln(p.out, "Temporal answers again.")
		}
	}
	p.kind, p.since, p.told = kind, time.Now(), ""
}

// Unserved returns the call that waits for another worker; nil if there is none: see [client.Retry.Unserved].
func (p *Notice) Unserved() *client.Retry {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kind == retrying && p.tried.Unserved() {
		return p.tried
	}
	return nil
}

// print writes nothing if the notice has the same text as the last one. The caller must hold `p.mu`.
func (p *Notice) print() {
	var text string
	switch p.kind {
	case noWorker:
		rest := "goes on as soon as the worker answers."
		if p.Limit > 0 {
			rest = fmt.Sprintf("waits %s for it (--wait).", p.Limit)
		}
		text = fmt.Sprintf("No worker has answered yet on task queue %q. Start one with `%s`; this command %s", p.Queue, StartWorker, rest)
	case noServer:
		text = "Temporal does not answer; trying again until it does."
	case retrying:
		text = RetryText(*p.tried, p.ID)
		if p.Limit > 0 && p.tried.Unserved() {
			text += fmt.Sprintf(" This command waits %s for it (--wait).", p.Limit)
		}
	default:
		return
	}
	// The text contains the remaining time, which changes. Compare only the attempt and the class, so that print does not repeat
	// itself. The attempts of a call that waits for another worker are no news.
	news := text
	if p.kind == retrying {
		if news = p.tried.Class; !p.tried.Unserved() {
			news = fmt.Sprint(p.tried.Attempt, p.tried.Class)
		}
	}
	if news != p.told {
		fmt.Fprintln(p.out, text)
	}
	p.told = news
}
