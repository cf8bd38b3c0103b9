package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/app/serve"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const (
	// cachedChats is the number of agents that the worker of [lab.asleep] keeps in memory.
	cachedChats = 100
	// warmChats is the number of chats after which the worker has in memory what it needs for any number of chats.
	warmChats    = 20
	startsAtOnce = 50
	// idleTime is the time for which the requests of the worker are counted while all chats are idle.
	idleTime = 10 * time.Second
)

// asleepWorker is the name of an environment variable. If it is set, this program is a worker process for [lab.asleep]. The value is
// the path of the worker's configuration.
const asleepWorker = "REAGENT_BENCH_WORKER" //nolint:gosec // the name of a variable, not a secret

// asleepModel is the name of the environment variable of this worker process with the URL of the model, for [ChatByHand].
const asleepModel = "REAGENT_BENCH_MODEL"

// asleep measures what chats cost that wait for a message. It starts the given number of chats, but at least 200, on one worker
// process with a small cache. Each chat makes one turn. Then asleep measures the memory of the worker, the size of the server's
// database, and the requests of the worker while nothing happens. If `chats` is 0, asleep does nothing.
func (l *lab) asleep(ctx context.Context, chats int) error {
	if chats == 0 {
		return nil
	}
	chats = max(chats, 2*cachedChats)
	progressf("%d chats that are asleep", chats)
	s, err := newSleep(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	name := func(what string) string { return fmt.Sprintf("%s, %d chats asleep", what, chats) }

	// After the first chats, the worker has in memory what it needs for any number of chats. After the second step, its cache is
	// full.
	var sizes [3]footprint
	began := time.Now()
	for i, upTo := range []int{warmChats, cachedChats, chats} {
		if sizes[i], err = s.grow(ctx, upTo); err != nil {
			return err
		}
	}
	warm, full, all := sizes[0], sizes[1], sizes[2]
	more := float64(chats - cachedChats)
	l.report.note(name("chats started a second"), fmt.Sprintf("%.0f", float64(chats)/time.Since(began).Seconds()))
	l.report.note(name("worker heap with 20, 100, all chats"), fmt.Sprintf("%.1f, %.1f, %.1f MB", warm.heap/1e6, full.heap/1e6, all.heap/1e6))
	l.report.note(name("worker heap for a chat in the cache, not in the cache"),
		fmt.Sprintf("%.0f, %.0f bytes", (full.heap-warm.heap)/(cachedChats-warmChats), (all.heap-full.heap)/more))
	l.report.note(name("worker RSS with 20, 100, all chats"), fmt.Sprintf("%.0f, %.0f, %.0f MB", warm.worker, full.worker, all.worker))
	l.report.note(name("server RSS with 20, 100, all chats"), fmt.Sprintf("%.0f, %.0f, %.0f MB", warm.server, full.server, all.server))
	l.report.note(name("database bytes a chat"), fmt.Sprintf("%.0f", (all.database-full.database)/more))
	requests, err := s.requestsIn(ctx, idleTime)
	if err != nil {
		return err
	}
	for i := 0; i < chats; i += max(chats/20, 1) {
		if err := s.sleeps(ctx, i); err != nil {
			return err
		}
	}
	value := "none"
	if len(requests) > 0 {
		value = fmt.Sprint(requests)
	}
	l.report.goal(name("requests in "+idleTime.String()+", long polls apart"), value, len(requests) == 0, "none")
	return nil
}

// sleep has what the measurements [lab.asleep] and [lab.wake] need: a server that writes its data to a file, a worker process, and a model server in
// this process.
type sleep struct {
	dir      string // folder of the database and of the worker's configuration
	server   *devserver.Server
	temporal client.Client
	agents   *agents.Client
	model    *llmtest.Server
	worker   *exec.Cmd
	collect  io.Writer      // each line that is written here makes the worker collect garbage
	answers  *bufio.Scanner // the lines that the worker prints

	asked sync.Map     // the time of the first request to the model with a message, by the text of the message
	turns atomic.Int64 // number of requests to the model
}

func newSleep(ctx context.Context) (*sleep, error) {
	dir, err := os.MkdirTemp("", "reagent-bench-")
	if err != nil {
		return nil, err
	}
	s := &sleep{dir: dir}
	if err := s.start(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sleep) start(ctx context.Context) error {
	var err error
	s.server, err = devserver.Start(ctx, devserver.Options{Progress: os.Stderr, Metrics: true, DBFilename: filepath.Join(s.dir, "temporal.db")})
	if err != nil {
		return err
	}
	options, err := dial.ClientOptions(s.server.Address(), "")
	if err != nil {
		return err
	}
	if s.temporal, err = client.Dial(options); err != nil {
		return err
	}
	s.agents = agents.New(s.temporal, "asleep")
	s.model = llmtest.Serve(clientFunc(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		s.asked.LoadOrStore(req.Messages[len(req.Messages)-1].Content, time.Now())
		s.turns.Add(1)
		return llmtest.Say(lastAnswer), nil
	}))
	yaml := fmt.Sprintf("task_queue: asleep\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  x: {model: main}\n", s.model.URL)
	path := filepath.Join(s.dir, "agents.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.worker = exec.CommandContext(ctx, self)
	s.worker.Env = append(os.Environ(), asleepWorker+"="+path, asleepModel+"="+s.model.URL, "TEMPORAL_ADDRESS="+s.server.Address())
	if s.collect, err = s.worker.StdinPipe(); err != nil {
		return err
	}
	out, err := s.worker.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.worker.Start(); err != nil {
		return err
	}
	s.answers = bufio.NewScanner(out)
	for s.answers.Scan() {
		if strings.Contains(s.answers.Text(), "Ready.") {
			return nil
		}
	}
	return errors.New("the worker ended before it was ready")
}

func (s *sleep) close() {
	if s.worker != nil && s.worker.Process != nil {
		_ = s.worker.Process.Kill() // the process may have ended before
		_ = s.worker.Wait()
	}
	if s.model != nil {
		s.model.Close()
	}
	if s.temporal != nil {
		s.temporal.Close()
	}
	if s.server != nil {
		s.server.Stop()
	}
	os.RemoveAll(s.dir)
}

// sleepWorker runs the worker of [lab.asleep] and [lab.wake] with the configuration at the given path. For each line of the standard input, it collects
// garbage, returns free memory to the system, and prints the size of the heap.
func sleepWorker(ctx context.Context, path string) error {
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			debug.FreeOSMemory()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println(m.HeapAlloc)
		}
	}()
	stop, err := serveByHand(os.Getenv("TEMPORAL_ADDRESS"), os.Getenv(asleepModel))
	if err != nil {
		return err
	}
	defer stop()
	return serve.Run(ctx, serve.Options{Config: path, Stateful: "none", CacheAgents: cachedChats}, os.Stdout, os.Stderr)
}

// heap makes the worker collect garbage, and returns the size of its heap in bytes.
func (s *sleep) heap() (float64, error) {
	if _, err := fmt.Fprintln(s.collect); err != nil {
		return 0, err
	}
	if !s.answers.Scan() {
		return 0, errors.New("the worker ended")
	}
	return strconv.ParseFloat(s.answers.Text(), 64)
}

func chatID(i int) string { return fmt.Sprint("asleep-", i) }

// footprint is the memory of a worker and its server.
type footprint struct {
	heap           float64 // of the worker, in bytes, after a garbage collection
	worker, server float64 // resident, in MB
	database       float64 // size of the database files, in bytes
}

// grow starts chats until there are `to` of them, waits until all are idle, and returns the memory that is then in use.
func (s *sleep) grow(ctx context.Context, to int) (footprint, error) {
	err := s.startChats(ctx, int(s.turns.Load()), to)
	if err == nil {
		err = s.quiet(ctx)
	}
	if err != nil {
		return footprint{}, err
	}
	heap, err := s.heap()
	return footprint{heap, resident(s.worker.Process.Pid), resident(s.server.PID()), s.databaseBytes()}, err
}

// startChats starts the chats with the numbers from `from` to before `to`, and waits until the model has answered each of them.
func (s *sleep) startChats(ctx context.Context, from, to int) error {
	numbers, failed := make(chan int), make(chan error, startsAtOnce)
	var all sync.WaitGroup
	for range startsAtOnce {
		all.Go(func() {
			for i := range numbers {
				if _, err := s.agents.Start(ctx, agents.StartOptions{ID: chatID(i), Agent: "x", Mode: agent.Chat, Message: fmt.Sprint("hello ", i)}); err != nil {
					failed <- err
					return
				}
				for began := time.Now(); s.turns.Load() < int64(i-startsAtOnce) && time.Since(began) < patience; { // the worker keeps pace
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	shown := time.Now()
	for i := from; i < to; i++ {
		select {
		case numbers <- i:
		case err := <-failed:
			return err
		}
		if time.Since(shown) > 5*time.Second {
			shown = time.Now()
			progressf("  %d of %d chats", i, to)
		}
	}
	close(numbers)
	all.Wait()
	for began := time.Now(); s.turns.Load() < int64(to); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			return fmt.Errorf("the model got %d of %d requests", s.turns.Load(), to)
		}
	}
	return nil
}

func (s *sleep) databaseBytes() float64 {
	var bytes float64
	files, _ := filepath.Glob(filepath.Join(s.dir, "temporal.db*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			bytes += float64(info.Size())
		}
	}
	return bytes
}

// sleeps returns an error if a chat has a timer, an activity or a workflow task that is open.
func (s *sleep) sleeps(ctx context.Context, i int) error {
	found, err := s.temporal.DescribeWorkflowExecution(ctx, chatID(i), "")
	if err != nil {
		return err
	}
	if len(found.GetPendingActivities()) > 0 || found.GetPendingWorkflowTask() != nil {
		return fmt.Errorf("the chat %s has an open activity or workflow task", chatID(i))
	}
	timers := map[int64]bool{}
	events := s.temporal.GetWorkflowHistory(ctx, chatID(i), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return err
		}
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_TIMER_STARTED:
			timers[event.GetEventId()] = true
		case enumspb.EVENT_TYPE_TIMER_CANCELED:
			delete(timers, event.GetTimerCanceledEventAttributes().GetStartedEventId())
		case enumspb.EVENT_TYPE_TIMER_FIRED:
			delete(timers, event.GetTimerFiredEventAttributes().GetStartedEventId())
		}
	}
	if len(timers) > 0 {
		return fmt.Errorf("the chat %s has an open timer", chatID(i))
	}
	return nil
}

// requestLine matches a line of the server's metric "service_requests", and captures the labels and the count.
var requestLine = regexp.MustCompile(`(?m)^service_requests\{([^}]*)\} (\S+)$`)

// label matches a label of a metric, and captures its name and its value.
var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// requests returns how many requests the server has got from outside since its start, by their names. Long polls are left out.
func (s *sleep) requests(ctx context.Context) (map[string]float64, error) {
	text, err := metrics(ctx, s.server)
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for _, m := range requestLine.FindAllStringSubmatch(text, -1) {
		labels := map[string]string{}
		for _, l := range label.FindAllStringSubmatch(m[1], -1) {
			labels[l[1]] = l[2]
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		if operation := labels["operation"]; labels["service_name"] == "frontend" && !strings.HasPrefix(operation, "Poll") {
			counts[operation] += n
		}
	}
	if len(counts) == 0 {
		return nil, errors.New("the server's metrics have no requests")
	}
	return counts, nil
}

// requestsIn returns how many requests the server gets in the given time, by their names. Long polls are left out.
func (s *sleep) requestsIn(ctx context.Context, d time.Duration) (map[string]float64, error) {
	before, err := s.requests(ctx)
	if err != nil {
		return nil, err
	}
	time.Sleep(d)
	after, err := s.requests(ctx)
	if err != nil {
		return nil, err
	}
	for operation := range after {
		after[operation] -= before[operation]
	}
	maps.DeleteFunc(after, func(_ string, n float64) bool { return n == 0 })
	return after, nil
}

// quiet waits until the worker has ended all workflow tasks. The server updates its metrics about once a second.
func (s *sleep) quiet(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < patience; {
		ended, err := s.requestsIn(ctx, 3*time.Second)
		if err != nil {
			return err
		}
		if ended["RespondWorkflowTaskCompleted"] == 0 {
			return nil
		}
	}
	return errors.New("the worker still runs workflow tasks")
}
