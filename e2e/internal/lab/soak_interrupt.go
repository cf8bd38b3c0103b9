package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Of the agents of TestSoak, one in interruptible is interrupted. The random generator of the agents chooses them.
const interruptible = 5

// goOnWords are the first words of a message that lets an interrupted agent go on.
const goOnWords = "go on"

// afterInterrupt replies to the messages that only an interrupted agent gets. In place of its task, the agent gets one of three tasks:
// to answer, to call two tools, or to ask the clerk, whom it may have asked before. It also replies to an interrupted planner whose
// people have not waited for the clerk: see [Soak.attend].
func afterInterrupt(text string, step int) (llm.Reply, bool) {
	var n int
	switch {
	case strings.HasPrefix(text, lateResult), strings.HasPrefix(text, backgroundResult) && text != clerkAnswers:
		return llmtest.Say("Noted."), true
	case text == "plan it" && step == 2:
		return llmtest.Say("I wait for the clerk."), true
	case !strings.HasPrefix(text, goOnWords):
		return llm.Reply{}, false
	}
	_, _ = fmt.Sscanf(text, goOnWords+" %d", &n)
	arguments := fmt.Sprintf(`{"n":%d}`, n)
	script := [][]llm.Reply{
		nil,
		{llmtest.Call(llmtest.ToolCall("g1", "pay", arguments), llmtest.ToolCall("g2", "read", arguments)), llmtest.Call(llmtest.ToolCall("g3", "pay", arguments))},
		{llmtest.Call(llmtest.ToolCall("g1", "clerk", `{"task":"count"}`))},
	}[n%3]
	if step < len(script) {
		return script[step], true
	}
	return llmtest.Say("I went on."), true
}

// interruptSome returns a function for [Soak.trouble]. The function interrupts the running turn of an agent. [Soak.attend] lets it go
// on.
func (s *Soak) interruptSome(ctx context.Context) func(string) error {
	return func(id string) error { return s.interrupt(ctx, id) }
}

// attended calls f, which waits for the agent with the given ID, and meanwhile lets the agent go on if it is interrupted: see
// [Soak.attend]. It returns the error of f.
func (s *Soak) attended(ctx context.Context, id string, f func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	var attending sync.WaitGroup
	attending.Go(func() { s.attend(ctx, id) })
	defer attending.Wait()
	defer cancel()
	return f()
}

// attend lets an agent whose turn was interrupted go on, and decides on its calls, until ctx ends. It does nothing before the first
// interrupt, because the transcript of an agent that is never interrupted is compared with that of an undisturbed agent.
func (s *Soak) attend(ctx context.Context, id string) {
	for pause(ctx, 200*time.Millisecond) == nil {
		if !s.extras.wasInterrupted(id) {
			continue
		}
		snap, err := s.Client.ShowRecorded(ctx, id)
		if err != nil {
			continue // the server may be down
		}
		switch {
		case snap.Status == reagent.Held && snap.Class == agent.Interrupted:
			err = s.goOn(ctx, id, goOnWords)
		case snap.Status == reagent.Failed && snap.Class == agent.Interrupted:
			// The agent was closing: it was closed before it was reset and interrupted.
			began := time.Now()
			if _, err = s.Client.Resume(ctx, id, reagent.ResumeOptions{}); err == nil {
				s.ledger.disturbed(id, "resumed after an interrupt", began)
			}
		}
		if err != nil && ctx.Err() == nil {
			s.T.Logf("%s: %v", id, err)
		}
		for _, call := range snap.Pending {
			if call.Waits() {
				s.people.decide(ctx, s.Client, id, call)
			}
		}
	}
}

// hearInterrupted checks the transcripts of an agent that was interrupted, and of all its sub-agents. The transcripts cannot be
// compared with those of an undisturbed agent. So these checks are about what holds after every interrupt: the agent ends with an
// answer, each call has one result, the results agree with the ledger, and no message and no decision is lost. hearInterrupted returns
// the IDs of the agent and of its sub-agents. The parameter messages has the messages of the scenario.
func (s *Soak) hearInterrupted(ctx context.Context, v *Verdict, id string, messages []string) []string {
	ids := s.withLost(ctx, []string{id}, []string{id})
	for _, each := range ids {
		v.agents++
		var snap reagent.Snapshot
		err := until(ctx, each+" has ended", func(ctx context.Context) (bool, error) {
			var err error
			snap, err = s.Client.ShowRecorded(ctx, each)
			return err == nil && snap.Status.Ended(), err
		})
		// An interrupt cancels the sub-agents for which the turn waits.
		if err != nil || snap.Status != reagent.Completed && (each == id || snap.Status != reagent.Cancelled) {
			v.problemf("%s is %s: %s: %v", each, snap.Status, snap.Failure, err)
		}
		lines, err := linesOf(snap.Messages)
		if err != nil && (snap.Status != reagent.Cancelled || !errors.Is(err, errOpenCalls)) {
			v.problemf("%s: %v", each, err)
		}
		if n := len(lines); snap.Status == reagent.Completed && (n == 0 || lines[n-1].role != llm.Assistant || lines[n-1].calls != "" || lines[n-1].content == "") {
			v.problemf("%s: it has completed, and does not end with an answer: %v", each, lines)
		}
		v.hearLate(each, lines)
		for _, l := range lines {
			v.owners[l.key] = each
			v.weigh(l)
		}
		s.people.hold(v, each, lines)
		if each == id {
			s.hearSenders(v, id, lines, messages)
		}
	}
	return ids
}

// hearSenders checks that the messages of the scenario and those that let an interrupted agent go on are in its transcript once.
func (s *Soak) hearSenders(v *Verdict, id string, lines []line, messages []string) {
	var scenario []reagent.Message
	for _, text := range messages {
		scenario = append(scenario, reagent.Message{Text: text})
	}
	senders := [][]reagent.Message{scenario}
	for _, m := range s.extras.accepted[id] {
		senders = append(senders, []reagent.Message{m})
	}
	v.hearMessages(lines, correspondence{id: id, senders: senders, perhaps: s.extras.perhaps, interrupted: true})
}

// hearLate checks the messages that bring the real result of a call. The call has a result before that, which is not the real one. A
// tool whose real result came has taken effect. No message comes twice. A call of a sub-agent may have two such messages: the failure
// of the sub-agent, and then its answer.
func (v *Verdict) hearLate(id string, lines []line) {
	results := map[string]line{}
	late := map[string]bool{}
	for _, l := range lines {
		if l.answers != "" {
			results[l.key] = l
		}
		key, isLate := lateOf(l.key)
		if !isLate {
			continue
		}
		_, content, _ := strings.Cut(l.content, "\n\n")
		call, known := results[key]
		switch {
		case late[l.key]:
			v.problemf("%s: the result of %s came twice: %v", id, call.answers, lines)
		case !known || strings.HasPrefix(call.content, "did "):
			v.problemf("%s: no call waited for the result %q: %v", id, l.content, lines)
		case strings.HasPrefix(content, "did ") && len(v.seen[key]) == 0:
			v.problemf("%s: %s has a late result and took no effect", id, call.answers)
		}
		late[l.key] = true
	}
}

// ownInterrupted gives all calls of interrupted agents and of their sub-agents an owner. If such an agent was reset, it may have taken
// another path, and calls of the earlier path are in no transcript any more.
func (s *Soak) ownInterrupted(v *Verdict, spans map[string]span) {
	for _, key := range slices.Sorted(maps.Keys(spans)) {
		id := spans[key].agent
		root, _, _ := strings.Cut(id, "/")
		if v.owners[key] == "" && s.extras.wasInterrupted(root) {
			v.owners[key] = id
		}
	}
}
