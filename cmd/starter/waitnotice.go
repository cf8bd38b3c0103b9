package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/protocol"
)

// silence is how long something may go wrong before a person is told: most of it is
// over sooner.
const silence = 2 * time.Second

// waitNotice tells a person who waits for an agent what keeps it: no worker, no Temporal, a
// call that is tried again. Each is told once, after a while, and its end too.
type waitNotice struct {
	out   io.Writer
	queue string
	// id is the agent's, where the command can say what to do about it.
	id    string
	first *time.Timer
	// limit is the time that the command waits for a worker; 0 means without end.
	limit time.Duration
	// live is where a person sees what the agent works on; nil where lines tell it.
	live *preview

	mu    sync.Mutex
	kind  trouble
	since time.Time // of the trouble
	told  string    // what was said of it; empty while nothing was
	tried *client.Retry
	work  work
	// reported is the time of the last line about the agent's work.
	reported time.Time
}

type trouble string

const (
	noTrouble trouble = ""
	noWorker  trouble = "no worker"
	noServer  trouble = "no server"
	retrying  trouble = "retrying"
)

// newWaitNotice returns the patience of a command that waits for a worker. The limit is the longest wait; 0 means no limit. The caller
// must call stop.
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

// stop ends the wait, whether somebody answered or not.
func (p *waitNotice) stop() { p.first.Stop() }

// over says that somebody answered.
func (p *waitNotice) over() {
	p.first.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(noTrouble)
}

// update takes what [client.Client.Watch] yields.
func (p *waitNotice) update(progress client.Progress) {
	p.first.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report(progress)
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
	// A name that no worker knows is most often a mistyped one, for which waiting is no cure.
	if time.Since(p.since) >= silence || p.kind == retrying && p.tried.Class == protocol.UnknownAgent {
		p.print()
	}
}

// report shows what the agent works on: as the live line of a terminal, else as a line every reportEvery.
func (p *waitNotice) report(progress client.Progress) {
	now := time.Now()
	text := p.work.line(progress, now)
	if p.live != nil {
		p.live.update(progress, text)
		return
	}
	if progress.Message != nil || text == "" {
		p.reported = now
	} else if now.Sub(p.reported) >= reportEvery {
		p.reported = now
		fmt.Fprintln(p.out, "Waiting for "+text)
	}
}

// turn begins another trouble, or none.
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

// print says what is wrong, unless it was said.
func (p *waitNotice) print() {
	var text string
	switch p.kind {
	case noWorker:
		if p.limit > 0 {
			text = fmt.Sprintf("No worker has answered yet on task queue %q. Start one with `%s`; this waits for it for %s (--wait).",
				p.queue, startWorker, p.limit)
			break
		}
		text = fmt.Sprintf("No worker has answered yet on task queue %q. Start one with `%s`; this goes on when it is up.", p.queue, startWorker)
	case noServer:
		text = "Temporal does not answer; trying again until it does."
	case retrying:
		text = retryText(*p.tried, p.id)
	default:
		return
	}
	// The same text but for the time would be no news.
	news := text
	if p.kind == retrying {
		if news = p.tried.Class; news != protocol.UnknownAgent {
			news = fmt.Sprint(p.tried.Attempt, p.tried.Class)
		}
	}
	if news != p.told {
		fmt.Fprintln(p.out, text)
	}
	p.told = news
}

// retryText describes a call that is tried again, and what can be done about it where that is more than waiting.
func retryText(r client.Retry, id string) string {
	if r.Class == protocol.UnknownAgent {
		return fmt.Sprintf("%s. It waits some minutes for a worker that has this agent; if the name is wrong, end it with `starter cancel %s`.",
			printable.Line(r.Message, 500), id)
	}
	// The text of a model's failure begins with "model: ".
	text := printable.Line(r.Message, 300)
	if !strings.HasPrefix(text, r.What+": ") {
		text = printable.Name(r.What) + ": " + text
	}
	if wait := time.Until(r.Next).Round(time.Second); wait > 0 {
		return fmt.Sprintf("%s; %s starts in %d s", text, attemptText(r.Attempt, r.Limit), int(wait.Seconds()))
	}
	return fmt.Sprintf("%s; %s is running", text, attemptText(r.Attempt, r.Limit))
}

// attemptText returns such as "attempt 3 of 8"; a limit of 0 is unknown.
func attemptText(attempt, limit int) string {
	if limit == 0 {
		return fmt.Sprintf("attempt %d", attempt)
	}
	return fmt.Sprintf("attempt %d of %d", attempt, limit)
}
