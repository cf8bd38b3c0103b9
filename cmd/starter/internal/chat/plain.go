package chat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
	"github.com/reagent-dev/reagent/internal/shellword"
	"github.com/reagent-dev/reagent/llm"
)

type plainChat struct {
	o           Options
	out, notice io.Writer
	// lines has the lines of the input. ended says that no more will come. failure says why the input could not be read to its end.
	lines   <-chan inputLine
	ended   bool
	failure error
	// held are lines that were read while the agent worked. They wait for the end of the turn.
	held []string
	// next is the index of the first message that the chat has not seen.
	next int
	// told has the calls about which the person was told that they wait. looked is the time at which the chat last asked for calls of
	// sub-agents.
	told   map[agent.Key]bool
	looked time.Time
	// asked is the question that the next line answers; nil if there is none.
	asked *agent.Question
	// said is the last notice. A notice is written once, although its reason is reported again and again.
	said string
	// choice is the model for the next messages. begins says that the next message can bring it: see [beginsTurn].
	choice modelChoice
	begins bool
	result Result
}

var errQuit = errors.New("quit")

// RunPlain reads messages and commands from in, one in each line, and writes the answers to out. It waits for each answer before it takes
// the next message. A line after a question of the agent is the answer. Notices, such as a call that waits for an approval, go to notice.
// It writes no control sequences.
//
// RunPlain returns nil at the end of in, after /quit, and when the agent has ended. It returns an error if ctx ends, or if in, the agent or
// its progress fails.
func RunPlain(ctx context.Context, o Options, in io.Reader, out, notice io.Writer) (Result, error) {
	p := &plainChat{o: o, out: out, notice: notice, told: map[agent.Key]bool{}, result: Result{ID: o.ID, Started: o.Start == nil}}
	if p.result.Started {
		if err := p.skip(ctx); err != nil || p.result.Status.Ended() {
			return p.result, err
		}
	}
	p.lines = readLines(ctx, in)
	for {
		text, more, err := p.line(ctx)
		if err == nil && strings.TrimSpace(text) != "" {
			err = p.take(ctx, text)
		}
		switch {
		case errors.Is(err, errQuit):
			return p.result, nil
		case err != nil || p.result.Status.Ended():
			return p.result, err
		case !more:
			return p.result, p.failure
		}
	}
}

// line returns the next line of the input. more is false if it is the last one.
func (p *plainChat) line(ctx context.Context) (text string, more bool, err error) {
	if len(p.held) == 0 && !p.ended {
		select {
		case <-ctx.Done():
			return "", false, context.Cause(ctx)
		case line := <-p.lines:
			p.read(line)
		}
	}
	if len(p.held) > 0 {
		text, p.held = p.held[0], p.held[1:]
	}
	return text, len(p.held) > 0 || !p.ended, nil
}

func (p *plainChat) read(line inputLine) {
	if strings.TrimSpace(line.text) != "" {
		p.held = append(p.held, line.text)
	}
	p.ended = line.err != nil
	if p.ended && !errors.Is(line.err, io.EOF) {
		p.failure = fmt.Errorf("read standard input: %w", line.err)
	}
}

func (p *plainChat) take(ctx context.Context, text string) error {
	c, ok := commandOf(text)
	if !ok {
		return p.say(ctx, messageOf(text))
	}
	if err := p.command(ctx, c); err != nil || !c.decides() || !p.result.Started {
		return err
	}
	return p.follow(ctx, "") // the agent may go on
}

// inputLine is one line of the input, without its line break. err is set only for the last line: [io.EOF], or the error of the read.
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
			p.result.Status, p.begins = r.Status, beginsTurn(r)
			p.question(ctx, r)
			return nil
		}
	}
	return context.Cause(ctx)
}

// say sends a message and writes the replies, until the agent rests or asks a question. The first message starts the agent.
func (p *plainChat) say(ctx context.Context, text string) error {
	message, key := outgoing{id: uuid.NewString(), text: text, steer: p.result.Status != client.Waiting}, ""
	if p.asked != nil {
		if why := noChoice(*p.asked, text); why != "" {
			p.tell(why + " It is sent as your answer.") // a script has no other answer
		}
		message.text, p.asked = p.asked.Answer(text), nil
	} else if p.result.Started {
		var note string
		if message.model, note = p.choice.of(p.begins); note != "" {
			p.tell(note)
		}
		message.steer = message.steer && message.model == ""
	}
	if !p.result.Started {
		started, err := p.start(ctx, message)
		if err != nil {
			return err
		}
		p.result.Started, key = true, started.MessageID
	}
	if key == "" { // the agent existed already
		sent, err := p.deliver(ctx, message)
		if err != nil {
			return err
		}
		key = cmp.Or(string(sent.Answered), sent.MessageID)
	}
	return p.follow(ctx, key)
}

// follow writes the replies of the agent until it rests or asks a question. If `key` is not empty, it names a message, and follow first
// waits until the agent has taken this message, or a guardrail has refused it.
func (p *plainChat) follow(ctx context.Context, key string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reports, taken := watch(ctx, p.o.Agents, p.o.ID, p.next), key == ""
	waits := false // a call waits for a decision, perhaps one of a sub-agent
	own := false   // a call of this agent waits for a decision
	for {
		// One line is read while the agent works, because it may be a command for an agent that works. While a call waits for a decision,
		// all lines are read, because one of them may be the decision.
		lines := p.lines
		if p.ended || len(p.held) >= maxHeld || len(p.held) > 0 && !waits {
			lines = nil
		}
		select {
		case line := <-lines:
			p.read(line)
		case r, open := <-reports:
			switch {
			case !open:
				return context.Cause(ctx)
			case r.err != nil:
				return r.err
			}
			taken = taken || r.p.Message != nil && string(r.p.Message.Key) == key
			if r.p.Snapshot != nil && !taken {
				if text := r.p.Snapshot.RefusedMessage(key); text != "" {
					fmt.Fprintln(p.out, printable.Text(text))
					taken = true
				}
			}
			if r.p.Status != "" {
				own = r.p.WaitsFor == client.WaitsForApproval
				waits = own || r.p.WaitsFor == client.WaitsForSubAgents
			}
			if p.see(ctx, r.p, taken) {
				return nil
			}
		}
		if own {
			p.dropKeys()
		}
		if err := p.now(ctx, taken, waits); err != nil {
			return err
		}
	}
}

// dropKeys drops the held lines that are a key of the chat on a terminal, such as y. They are no messages: the person wanted to decide.
func (p *plainChat) dropKeys() {
	p.held = slices.DeleteFunc(p.held, func(text string) bool {
		drop := isVerdictKey(strings.TrimSpace(text))
		if drop {
			p.said = ""
			p.tell("“" + strings.TrimSpace(text) + "” was not sent, because a call waits for your approval: /approve lets it run, /deny REASON refuses it.")
		}
		return drop
	})
}

// maxHeld is the largest number of lines that are read while a call waits for a decision.
const maxHeld = 1000

// now carries out the commands among the held lines that need not wait for the end of the turn.
func (p *plainChat) now(ctx context.Context, taken, waits bool) error {
	var later []string
	for i, text := range p.held {
		c, ok := commandOf(text)
		if atOnce := waits && !c.forNext() || taken && c.forWork(); !ok || !atOnce {
			later = append(later, text)
			continue
		}
		if err := p.command(ctx, c); err != nil {
			p.held = append(later, p.held[i+1:]...)
			return err
		}
	}
	p.held = later
	return nil
}

// see takes a report of the agent. It returns true if the next line of the input is to be read.
func (p *plainChat) see(ctx context.Context, r client.Progress, taken bool) bool {
	switch m := r.Message; {
	case m != nil:
		p.next = r.Index + 1
		if m.Role == llm.Assistant && m.Content != "" {
			fmt.Fprintln(p.out, printable.Text(m.Content))
		}
	case r.Rewound:
		p.next = min(p.next, r.Index)
	case r.NoServer:
		p.tell("Temporal does not answer.")
	case r.NoWorker:
		p.tell(p.o.NoWorker)
	case r.Status != "":
		p.result.Status, p.begins = r.Status, beginsTurn(r)
		return (taken || r.WaitsFor != client.WaitsForMessage) && r.Rests() || p.question(ctx, r)
	}
	return false
}

// start starts the agent with the first message. If Temporal does not answer, it tries again with the same message ID.
func (p *plainChat) start(ctx context.Context, out outgoing) (client.Started, error) {
	o := *p.o.Start
	o.ID, o.Message, o.MessageID = p.o.ID, out.text, out.id
	for {
		started, err := p.o.Agents.Start(ctx, o)
		if ctx.Err() != nil || !unanswered(err) {
			return started, err
		}
		p.tell("Temporal does not answer.")
		select {
		case <-ctx.Done():
			return started, context.Cause(ctx)
		case <-time.After(refreshPause):
		}
	}
}

// deliver waits for a worker without a limit, and tells the person so.
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

// question tells the person what the agent waits for. It returns true if the next line is the answer to a question.
func (p *plainChat) question(ctx context.Context, r client.Progress) bool {
	if r.WaitsFor == client.WaitsForSubAgents && time.Since(p.looked) < restingPause || !client.CallWaits(r.WaitsFor) && r.WaitsFor != client.WaitsForSubAgents {
		return false
	}
	p.looked = time.Now()
	waits, err := p.o.Agents.Pending(ctx, p.o.ID)
	if err != nil {
		return false // the next report asks again
	}
	for _, w := range waits {
		p.tellCall(w)
	}
	for _, w := range waits {
		q, asks := w.Call.Question()
		if asks && w.AgentID == p.o.ID && w.Call.WaitsFor() == client.WaitsForAnswer {
			p.said, p.asked = "", &q
			p.tell("Question: " + indentedText(q.Question))
			for i, choice := range q.Choices {
				fmt.Fprintf(p.notice, "  %d  %s\n", i+1, printable.Line(choice, 500))
			}
			return true
		}
	}
	return false
}

// tellCall tells the person once that a call waits. It leaves out questions of this agent, which [plainChat.question] asks each time,
// because the next line is the answer.
func (p *plainChat) tellCall(w client.Waits) {
	who := ""
	if w.AgentID != p.o.ID {
		who = " of sub-agent " + printable.Name(w.AgentID)
	}
	waitsFor := w.Call.WaitsFor()
	if p.told[w.Call.Key] || waitsFor == client.WaitsForAnswer && who == "" {
		return
	}
	p.told[w.Call.Key] = true
	name := printable.Name(w.Call.Name)
	give := func(verb, what string) shellword.Command {
		return shellword.Starter(verb, w.AgentID).With("--call " + w.Handle()).Then(what)
	}
	switch waitsFor {
	case client.WaitsForApproval:
		run := "run"
		if isText(w.Call) {
			run = "through"
		}
		fmt.Fprintf(p.notice, "%s (call %s)\n%s/approve lets it %s, /deny REASON refuses it.\n", mayText(w.Call, who), w.Handle(),
			screen.FormText(proposal.Of(w.Call.Name, w.Call.Arguments).Fold(": `"+view.AllCommand+"` shows them"), "    ", false), run)
	case client.WaitsForAnswer:
		q, _ := w.Call.Question()
		fmt.Fprintf(p.notice, "Question%s: %s\n%s\n", who, indentedText(printable.Text(q.Question)), give("answer", "TEXT"))
	case client.WaitsForResult:
		fmt.Fprintf(p.notice, "%s%s waits for its result: %s\n", name, who, give("complete", "RESULT"))
	}
}

func indentedText(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

// tell writes a notice, unless it was the last one.
func (p *plainChat) tell(text string) {
	if text != p.said {
		p.said = text
		fmt.Fprintln(p.notice, printable.Text(text))
	}
}
