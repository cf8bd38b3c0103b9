package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// silence is how long a problem must last before the user is informed. Most problems end sooner.
const silence = 2 * time.Second

// waitNotice tells a user who waits for an agent why the agent does not go on. The problem is one of three: no worker answers,
// Temporal does not answer, or a failed call is tried again. A waitNotice reports a problem when the problem has lasted for
// the time [silence]. It reports each problem once, and each attempt at a failed call once. It also reports when a worker or
// Temporal answers again. A waitNotice is safe for concurrent use.
type waitNotice struct {
	out   io.Writer
	queue string
	// id is the agent's ID for commands in the reports. It may be empty.
	id string
	// first is the timer for the first report. It reports a missing worker if the command has had no answer after [silence].
	first *time.Timer
	// limit is how long the command waits for a worker; 0 means no limit.
	limit time.Duration
	// live shows what the agent works on. If it is nil, the waitNotice writes lines to `out` instead.
	live *preview

	mu    sync.Mutex
	kind  trouble
	since time.Time     // when the trouble began
	told  string        // identifies the last report of the trouble; empty before the first report
	tried *client.Retry // the call that is tried again
	asks  bool          // a call waits for somebody outside, and the user was told
	work  work
	// reported is when [waitNotice.report] last wrote a line or had no work to show. The next line follows when the time
	// [reportEvery] has passed since then.
	reported time.Time
}

// trouble says why an agent does not go on.
type trouble string

const (
	noTrouble trouble = ""
	noWorker  trouble = "no worker"
	noServer  trouble = "no server"
	retrying  trouble = "retrying"
)

// newWaitNotice returns the waitNotice of a command that waits for a worker on the given task queue. The command waits at
// most for the time `limit`; 0 means no limit. If nothing answers within the time [silence], the waitNotice reports that no
// worker has answered. The caller must call [waitNotice.stop].
func newWaitNotice(stderr io.Writer, queue string, limit time.Duration) *waitNotice {
	now := time.Now()
	p := &waitNotice{out: stderr, queue: queue, limit: limit, kind: noWorker, since: now, reported: now, work: work{since: now}}
	p.first = time.AfterFunc(silence, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.print()
	})
	return p
}

// stop stops the timer of the first report, which says that no worker has answered. It may be called several times.
func (p *waitNotice) stop() { p.first.Stop() }

// over ends the current problem. It must be called when a worker has answered. If the user was told that no worker answers,
// or that Temporal does not answer, over reports the end of this problem.
func (p *waitNotice) over() {
	p.first.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(noTrouble)
}

// update tells the user what the agent works on. It also reports a problem that has lasted for the time [silence]. It reports
// one problem at once: the worker has no definition of the agent. update must be called with every [client.Progress] that
// [client.Client.Watch] yields.
func (p *waitNotice) update(progress client.Progress) {
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
	if time.Since(p.since) >= silence || p.kind == retrying && p.tried.Class == protocol.UnknownAgent {
		p.print()
	}
}

// report shows what the agent works on. On a terminal, it uses the preview. Otherwise, it writes a line to `p.out`, at most
// one in each period of [reportEvery]. The caller must hold `p.mu`.
func (p *waitNotice) report(progress client.Progress) {
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

// outsideText says what a person does for an agent whose calls wait for somebody outside.
var outsideText = map[client.WaitsFor]string{
	client.WaitsForApproval: "The agent waits for a decision on a call: see `starter inbox`, then `starter approve` or `starter deny`.",
	client.WaitsForAnswer:   "The agent asks a question: see `starter inbox`, then `starter answer`.",
	client.WaitsForResult:   "The agent waits for a result from outside: see `starter inbox`; `starter complete` gives it.",
}

// tellOutside tells the user once that a call waits for somebody outside. The caller must hold `p.mu`.
func (p *waitNotice) tellOutside(progress client.Progress) {
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
func (p *waitNotice) turn(kind trouble) {
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

// unserved returns the call that waits for another worker; nil if there is none: see [client.Retry.Unserved].
func (p *waitNotice) unserved() *client.Retry {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kind == retrying && p.tried.Unserved() {
		return p.tried
	}
	return nil
}

// print writes a notice about the current problem. It writes nothing if this notice has the same text as the last one. The caller
// must hold `p.mu`.
func (p *waitNotice) print() {
	var text string
	switch p.kind {
	case noWorker:
		if p.limit > 0 {
			text = fmt.Sprintf("No worker has answered yet on task queue %q. Start one with `%s`; this command waits %s for it (--wait).",
				p.queue, startWorker, p.limit)
			break
		}
		text = fmt.Sprintf("No worker has answered yet on task queue %q. Start one with `%s`; this command goes on as soon as the worker answers.", p.queue, startWorker)
	case noServer:
		text = "Temporal does not answer; trying again until it does."
	case retrying:
		text = retryText(*p.tried, p.id)
		if p.limit > 0 && p.tried.Unserved() {
			text += fmt.Sprintf(" This command waits %s for it (--wait).", p.limit)
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

// retryText describes a call that failed and is tried again. If the worker has no definition of the agent, the text also
// contains the command that ends the agent. For this command, retryText needs the agent's ID.
func retryText(r client.Retry, id string) string {
	if r.Class == protocol.UnknownAgent {
		return fmt.Sprintf("%s. The agent waits some minutes for a worker that has its definition; if the name is wrong, end the agent with `%s`.",
			printable.Line(r.Message, 500), shellword.Starter("cancel", id))
	}
	// The text of a model's failure begins with "model: ".
	text := printable.Line(r.Message, 300)
	if !strings.HasPrefix(text, r.What+": ") {
		text = printable.Name(r.What) + ": " + text
	}
	if r.Unserved() {
		return text + "."
	}
	if wait := time.Until(r.Next).Round(time.Second); wait > 0 {
		return fmt.Sprintf("%s; %s starts in %d s", text, attemptText(r.Attempt, r.Limit), int(wait.Seconds()))
	}
	return fmt.Sprintf("%s; %s is running", text, attemptText(r.Attempt, r.Limit))
}

// attemptText returns a text such as "attempt 3 of 8". The second number is `limit`, the largest number of attempts. If
// `limit` is 0, the largest number is unknown, and the text is "attempt 3".
func attemptText(attempt, limit int) string {
	if limit == 0 {
		return fmt.Sprintf("attempt %d", attempt)
	}
	return fmt.Sprintf("attempt %d of %d", attempt, limit)
}
