package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// plainChat is a chat without a terminal.
type plainChat struct {
	o           Options
	out, notice io.Writer
	// next is the index of the next message of the transcript.
	next int
	// said is the last notice. A notice is written once, although its reason is reported again and again.
	said   string
	result Result
}

// RunPlain reads messages from in, one in each line, and writes the answers to out. It waits for each answer before it reads the next
// line. A line after a question of the agent is the answer. Notices, such as a call that waits for an approval, go to notice. It
// returns at the end of in, or when the agent has ended. It writes no control sequences.
func RunPlain(ctx context.Context, o Options, in io.Reader, out, notice io.Writer) (Result, error) {
	p := &plainChat{o: o, out: out, notice: notice, result: Result{ID: o.ID, Started: o.Start == nil}}
	if p.result.Started {
		if err := p.skip(ctx); err != nil || p.result.Status.Ended() {
			return p.result, err
		}
	}
	lines := readLines(ctx, in)
	for {
		select {
		case <-ctx.Done():
			return p.result, context.Cause(ctx)
		case line := <-lines:
			if strings.TrimSpace(line.text) != "" {
				if err := p.say(ctx, line.text); err != nil || p.result.Status.Ended() {
					return p.result, err
				}
			}
			switch {
			case errors.Is(line.err, io.EOF):
				return p.result, nil
			case line.err != nil:
				return p.result, fmt.Errorf("read standard input: %w", line.err)
			}
		}
	}
}

// inputLine is a line of the input without its end. err is set with the last line.
type inputLine struct {
	text string
	err  error
}

// readLines reads the input in a goroutine, because a read cannot be interrupted. The goroutine ends with the input or the program.
func readLines(ctx context.Context, in io.Reader) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		reader := bufio.NewReader(in)
		for {
			text, err := reader.ReadString('\n')
			select {
			case lines <- inputLine{strings.TrimRight(text, "\r\n"), err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// skip passes over the messages that the transcript already has.
func (p *plainChat) skip(ctx context.Context) error {
	for r, err := range p.o.Agents.Watch(ctx, p.o.ID, 0) {
		if err != nil {
			return err
		}
		p.next = r.Index
		if r.Message != nil {
			p.next++
		}
		if r.Status != "" {
			p.result.Status = r.Status
			p.question(ctx, r)
			return nil
		}
	}
	return context.Cause(ctx)
}

// say sends a message and writes the replies, until the agent rests or asks a question.
func (p *plainChat) say(ctx context.Context, text string) error {
	id, key := p.o.ID, ""
	if !p.result.Started {
		o := *p.o.Start
		o.ID, o.Message = id, text
		started, err := p.o.Agents.Start(ctx, o)
		if err != nil {
			return err
		}
		p.result.Started, key = true, started.MessageID
	}
	if key == "" { // the agent existed already
		sent, err := p.deliver(ctx, outgoing{id: uuid.NewString(), text: text, steer: p.result.Status != client.Waiting})
		if err != nil {
			return err
		}
		if key = sent.MessageID; sent.Answered != "" {
			key = string(sent.Answered)
		}
	}
	taken := false
	for r, err := range p.o.Agents.Watch(ctx, id, p.next) {
		if err != nil {
			return err
		}
		switch m := r.Message; {
		case m != nil:
			p.next = r.Index + 1
			taken = taken || string(m.Key) == key
			if m.Role == llm.Assistant && m.Content != "" {
				fmt.Fprintln(p.out, printable.Text(m.Content))
			}
		case r.NoServer:
			p.tell("Temporal does not answer.")
		case r.NoWorker:
			p.tell(p.o.NoWorker)
		case r.Status != "":
			p.result.Status = r.Status
			if (taken || r.WaitsFor != client.WaitsForMessage) && r.Rests() || p.question(ctx, r) {
				return nil
			}
		}
	}
	return context.Cause(ctx)
}

// deliver sends a message. It waits for a worker without a limit, and tells the person so.
func (p *plainChat) deliver(ctx context.Context, out outgoing) (client.Sent, error) {
	for {
		sent, err := deliver(ctx, p.o.Agents, p.o.ID, out)
		switch {
		case ctx.Err() != nil || !unanswered(err):
			return sent, err
		case errors.Is(err, client.ErrNoServer):
			p.tell("Temporal does not answer.")
		default:
			p.tell(p.o.NoWorker)
		}
	}
}

// question tells the person for what the agent waits. It returns true if the next line is the answer to a question.
func (p *plainChat) question(ctx context.Context, r client.Progress) bool {
	if !client.CallWaits(r.WaitsFor) {
		return false
	}
	if r.WaitsFor != client.WaitsForAnswer {
		p.tell(fmt.Sprintf("A call waits: see `starter inbox`, and decide with `starter approve %s` or `starter deny %s`.", p.o.ID, p.o.ID))
		return false
	}
	waits, err := p.o.Agents.Pending(ctx, p.o.ID)
	if err != nil {
		return false // the next report asks again
	}
	for _, w := range waits {
		q, asks := w.Call.Question()
		if asks && w.AgentID == p.o.ID && w.Call.WaitsFor() == agent.WaitsForAnswer {
			p.said = ""
			p.tell("Question: " + q.Question)
			for i, choice := range q.Choices {
				fmt.Fprintf(p.notice, "  %d  %s\n", i+1, printable.Line(choice, 500))
			}
			return true
		}
	}
	return false
}

// tell writes a notice, unless it was the last one.
func (p *plainChat) tell(text string) {
	if text != p.said {
		p.said = text
		fmt.Fprintln(p.notice, printable.Text(text))
	}
}
