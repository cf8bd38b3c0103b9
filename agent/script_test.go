package agent_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// The scripts in testdata/scripts are conversations between a driver and the core. Each line in the input of a command
// is an event. The output is the next step of the agent. Keys are written as short names, numbered in the order in
// which they first appear. Run the test with -rewrite to accept new output, and read the difference.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{names: map[string]string{}}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	state *agent.State
	now   int64
	names map[string]string // key → name
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "agent": // agent mode=chat depth=1, with a definition as input
		s.start(t, d)
	case "apply":
		for line := range strings.SplitSeq(d.Input, "\n") {
			s.apply(t, line)
		}
	case "restart": // the state goes through JSON, as in a continue-as-new
		text, err := json.Marshal(s.state)
		require.NoError(t, err)
		s.state = new(agent.State)
		require.NoError(t, json.Unmarshal(text, s.state))
	case "transcript":
		return s.transcript()
	case "sent":
		return s.sent()
	case "notifications":
		return s.notifications()
	default:
		t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	return s.next()
}

func (s *script) start(t *testing.T, d *datadriven.TestData) {
	origin := agent.Start{KeyVersion: agent.KeyVersion, Incarnation: "l", Agent: "x"}
	if d.HasArg("mode") {
		var mode string
		d.ScanArgs(t, "mode", &mode)
		origin.Mode = agent.Mode(mode)
	}
	if d.HasArg("depth") {
		d.ScanArgs(t, "depth", &origin.Depth)
	}
	s.state = agent.New("a", origin, 0)
	load := s.state.Next().(agent.Load)
	def := agent.Definition{Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}}
	require.NoError(t, json.Unmarshal([]byte(d.Input), &def))
	require.True(t, s.state.Apply(agent.DefinitionLoaded{Key: load.Key, Definition: def}))
}

// apply reads an event such as `say m1 steer hello` or `tool t2 "interrupted" text`.
func (s *script) apply(t *testing.T, line string) {
	s.now += 1000
	word, rest, _ := strings.Cut(line, " ")
	arg, text, _ := strings.Cut(rest, " ")
	var e agent.Event
	switch word {
	case "message":
		steer := strings.HasPrefix(text, "(steer) ")
		e = agent.MessageReceived{Time: s.now, Message: agent.QueuedMessage{ID: arg, Text: strings.TrimPrefix(text, "(steer) "), Steer: steer}}
	case "steer": // steer m1 AFTER TEXT
		after, text, _ := strings.Cut(text, " ")
		n, err := strconv.Atoi(after)
		require.NoError(t, err)
		e = agent.MessageReceived{Time: s.now, Message: agent.QueuedMessage{ID: arg, Text: text, Steer: true, After: n}}
	case "take":
		if call, late := strings.CutPrefix(arg, "late-"); late {
			arg = strings.Replace(string(s.key(call)), agent.KindTool, agent.KindLate, 1)
		}
		e = agent.MessageTaken{ID: arg, Time: s.now}
	case "say":
		e = agent.ModelReplied{Key: s.key(arg), Time: s.now, Reply: llm.Reply{Message: llm.Message{Content: text}, Usage: llm.Usage{InputTokens: 10, OutputTokens: 5}}}
	case "call": // call model [{"id":…}]
		var calls []llm.ToolCall
		require.NoError(t, json.Unmarshal([]byte(text), &calls), line)
		e = agent.ModelReplied{Key: s.key(arg), Time: s.now, Reply: llm.Reply{Message: llm.Message{ToolCalls: calls}, Usage: llm.Usage{InputTokens: 10, OutputTokens: 5}}}
	case "fail":
		class, message, _ := strings.Cut(text, " ")
		e = agent.ModelFailed{Key: s.key(arg), Class: class, Message: message, Time: s.now}
	case "tool":
		e = agent.ToolFinished{Key: s.key(arg), Result: agent.Result{Content: text, Time: s.now}}
	case "asks": // asks key QUESTION: the tool asks a person
		e = agent.ToolFinished{Key: s.key(arg), Elicitation: &agent.Elicitation{Question: text, State: "state of " + arg}, Result: agent.Result{Time: s.now}}
	case "lost":
		e = agent.ToolFinished{Key: s.key(arg), Result: agent.ToolLost(s.now)}
	case "child":
		e = agent.ChildFinished{Key: s.key(arg), Result: agent.ChildAnswered(text, s.now)}
	case "childlost":
		e = agent.ChildGivenUp{Key: s.key(arg), Why: text, Time: s.now}
	case "decide", "remember", "give":
		e = agent.Decided{Decision: s.decision(line), Time: s.now}
	case "rewound": // rewound RUN: a reset has begun this run
		e = agent.Rewound{Run: arg}
	case "found": // found [DECISION]: a search of other runs has ended
		found := agent.MessagesFound{Run: s.state.Reset, Time: s.now}
		switch arg {
		case "":
		case "revoke":
			found.Revoked = []agent.Key{s.key(text)}
		default:
			found.Decisions = []agent.Decision{s.decision(rest)}
		}
		e = found
	case "recalled": // recalled KEY [approved | begun | RESULT]: other runs were asked about the call
		recalled := agent.CallFound{Key: s.key(arg), Time: s.now}
		switch text {
		case "":
		case "approved":
			recalled.Record.Decider = &agent.Decider{Remembered: true}
		case "begun":
			recalled.Record.Phase = agent.ChildRuns
		default:
			recalled.Record.Result = &agent.Result{Content: text, Kind: agent.Errored}
			for _, c := range s.state.Pending() {
				if c.Key == recalled.Key {
					recalled.Record.Child = c.Child
				}
			}
		}
		e = recalled
	case "asked": // asked model: the model call is in flight
		e = agent.ModelAsked{Key: s.key(arg)}
	case "revoke":
		e = agent.PermissionRevoked{Key: s.key(arg)}
	case "pass": // pass SECONDS
		seconds, err := strconv.Atoi(arg)
		require.NoError(t, err)
		s.now += int64(seconds-1) * 1000 // this line has taken one second
		return
	case "waitended":
		s.now -= 1000 // the time of the event before
		e = agent.WaitEnded{Time: s.now}
	case "interrupt":
		e = agent.Interrupt{Actor: agent.Actor{By: arg}}.Stopped(s.now)
	case "childfailed":
		e = agent.ChildFinished{Key: s.key(arg), Result: agent.ChildFailed("clerk", text, s.now)}
	case "wall":
		e = agent.TimeReached{Turn: s.state.Turn.Number, Time: s.now}
	case "drop": // as a new run does
		s.state.Drop()
		return
	case "stop":
		e = agent.Stopped{Class: arg, Message: text, Time: s.now}
	case "resume": // resume RUN [reload]
		e = agent.Resumed{RunID: arg, Reload: text == "reload", Time: s.now}
	case "reload": // reload ID
		e = agent.ReloadAsked{ID: arg}
	case "watch": // watch SECONDS
		seconds, err := strconv.Atoi(arg)
		require.NoError(t, err)
		e = agent.PartialTextAsked{Until: s.now + int64(seconds)*1000, Time: s.now}
	case "undefine": // undefine CLASS MESSAGE
		e = agent.DefinitionFailed{Key: s.state.Next().(agent.Load).Key, Class: arg, Message: text}
	case "define":
		load := s.state.Next().(agent.Load)
		def := agent.Definition{Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}}
		require.NoError(t, json.Unmarshal([]byte(rest), &def))
		e = agent.DefinitionLoaded{Key: load.Key, Definition: def}
	case "due":
		e = agent.NotificationsDue{Time: s.now}
		if end, ok := s.state.Next().(agent.Finish); ok {
			e = agent.NotificationsDue{Outcome: &end.Outcome, Time: s.now}
		}
	case "delivered": // delivered notification
		e = agent.NotificationEnded{Key: s.key(arg)}
	case "end":
		e = agent.Ended{}
	case "close":
		e = agent.Closed{}
	case "cancel":
		e = agent.CancelRequested{Time: s.now}
	default:
		t.Fatalf("no event %q", word)
	}
	s.state.Apply(e)
	before, err := json.Marshal(s.state)
	require.NoError(t, err)
	duplicates := s.state.Usage.DuplicateEvents
	require.False(t, s.state.Apply(e), "the same event again changed something: %s", line)
	s.state.Usage.DuplicateEvents = duplicates // the count may change
	after, err := json.Marshal(s.state)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the same event again: %s", line)
	s.next() // gives names to new keys
	for _, c := range s.state.Unanswered {
		s.name(c.Key)
		if c.Child != "" {
			s.name(c.Child)
		}
	}
}

// decision reads a decision: `decide KEY yes|no [ARGUMENTS or REASON]`, `remember KEY tool|call` or `give KEY RESULT`.
func (s *script) decision(line string) agent.Decision {
	word, rest, _ := strings.Cut(line, " ")
	key, text, _ := strings.Cut(rest, " ")
	d := agent.Decision{Key: s.key(key)}
	verdict, more, _ := strings.Cut(text, " ")
	switch {
	case word == "give":
		d.Result = &agent.GivenResult{Content: text}
	case word == "remember":
		d.Approve, d.Remember = true, agent.Remember(text)
	case verdict == "yes":
		d.Approve, d.Arguments = true, more
	default:
		d.Reason = more
	}
	return d
}

// key returns the key with that name, or the text itself.
func (s *script) key(name string) agent.Key {
	for key, n := range s.names {
		if n == name {
			return agent.Key(key)
		}
	}
	return agent.Key(name)
}

// name returns the short name of a key: its kind and a number in the order of appearance.
func (s *script) name(key agent.Key) string {
	if name, ok := s.names[string(key)]; ok {
		return name
	}
	kind, _, _ := strings.Cut(string(key), "-")
	n := 1
	for _, other := range s.names {
		if strings.HasPrefix(other, kind) {
			n++
		}
	}
	s.names[string(key)] = fmt.Sprintf("%s%d", kind, n)
	return s.names[string(key)]
}

func (s *script) next() string { return s.step(s.state.Next()) }

func (s *script) step(step agent.Step) string {
	switch step := step.(type) {
	case agent.Finish:
		o := step.Outcome
		text := fmt.Sprintf("finish %s %q", o.Status, o.Answer)
		if o.Stopped != "" {
			text += " stopped by " + o.Stopped
		}
		if o.Class+o.Message != "" {
			text += fmt.Sprintf(" because %s %s", o.Class, o.Message)
		}
		return text
	case agent.RunTools:
		lines := []string{"run"}
		for _, c := range step.Calls {
			line := fmt.Sprintf("  %s %s %s", s.name(c.Key), c.Name, c.Arguments)
			if c.Child != "" {
				line += " by " + s.name(c.Child)
			}
			if c.Wait.For == agent.WaitsForApproval {
				line += " asked"
			} else if c.Decider != nil && !c.Decider.Denied {
				line += " approved"
			}
			if q, ok := c.Question(); ok && c.Waits() {
				line += ", waits for " + string(c.WaitsFor()) + ": " + q.Question
			}
			if e := c.Elicitation; e != nil && e.Answer != nil {
				line += fmt.Sprintf(", %s, answered %q", e.State, e.Answer.Content)
			}
			if c.Search {
				line += ", other runs are asked"
			}
			if c.Wait.Until != 0 {
				line += fmt.Sprintf(", waits %d s", (c.Wait.Until-s.now)/1000)
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n")
	case agent.CallModel:
		return fmt.Sprintf("call %s with %d messages", s.name(step.Key), step.Count)
	case agent.Compact:
		if step.Key == "" {
			return "compact nothing"
		}
		return fmt.Sprintf("compact before %d, %s with %d messages", step.From, s.name(step.Key), step.Count)
	case agent.TakeMessage:
		if agent.Key(step.ID).Kind() == agent.KindLate {
			return "take late-" + s.name(agent.Key(strings.Replace(step.ID, agent.KindLate, agent.KindTool, 1)))
		}
		return "take " + step.ID
	case agent.FindMessages:
		return "search, then " + s.step(step.Then)
	case agent.Wait:
		if s.state.Hold != nil {
			return fmt.Sprintf("wait, held: %s %s", s.state.Hold.Class, s.state.Hold.Message)
		}
		return "wait"
	default:
		return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", step), "agent."))
	}
}

// notifications returns the notifications that are to be delivered.
func (s *script) notifications() string {
	var lines []string
	for _, n := range s.state.Notifications {
		line := fmt.Sprintf("%s to %s: %s, %s", s.name(n.Key), n.Hook, n.On, n.Status)
		for _, c := range n.Calls {
			line += fmt.Sprintf(", %s %s for %s", s.name(c.Key), c.Tool, c.WaitsFor)
		}
		for _, text := range []string{n.Class, n.Message, n.Answer} {
			if text != "" {
				line += ", " + text
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// sent returns the messages that the next request would send.
func (s *script) sent() string {
	var lines []string
	for i := range s.state.SentCount() {
		m := s.state.Sent(i)
		lines = append(lines, fmt.Sprintf("%s: %s", m.Role, m.Content))
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\n\n", "\n…\n")
}

func (s *script) transcript() string {
	lines := make([]string, len(s.state.Messages))
	for i, m := range s.state.Messages {
		lines[i] = fmt.Sprintf("%d %s: %s", i, m.Role, m.Content)
		for _, c := range m.ToolCalls {
			lines[i] += fmt.Sprintf(" [%s %s %s]", c.ID, c.Name, c.Arguments)
		}
		if m.Role == llm.Tool {
			lines[i] = fmt.Sprintf("%d tool %s: %s", i, m.ToolCallID, m.Content)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\n\n", "\n…\n")
}
