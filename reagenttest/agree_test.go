package reagenttest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	histories "github.com/reagent-dev/reagent/internal/testkit/recording"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
	"github.com/reagent-dev/reagent/tool"
)

// life is what happens to the agent "clerk". The zero value is a chat of one message and one answer.
type life struct {
	replies []reply
	acts    []act
}

// reply is one reply of the clerk's model. After the last one, the model says a text.
type reply byte

const (
	say      reply = iota
	price          // a call that runs at once
	approved       // a call that waits for an approval
	asked          // a question
	outside        // a call whose result comes from outside
	breaks         // a call that fails
	unknown        // a call of a tool that does not exist
	several        // three calls in one reply
	helps          // a sub-agent
	orders         // a sub-agent whose call waits for an approval
	refused        // the model refuses the request
	replyKinds
)

// act is what somebody does when the agents have settled. If nothing waits for it, it is the act that goes on: approval, answer, result or,
// when all messages have been answered, the end of the chat.
type act byte

const (
	goOn  act = iota
	no        // denies the call, or gives an error as its result
	other     // approves the call with other arguments
	last      // goes on with the newest call instead of the oldest
	again     // sends a message
	actKinds
)

func lifeOf(replies, acts []byte) life {
	var l life
	for _, b := range replies[:min(len(replies), 6)] {
		l.replies = append(l.replies, reply(b%byte(replyKinds)))
	}
	for _, b := range acts[:min(len(acts), 12)] {
		l.acts = append(l.acts, act(b%byte(actKinds)))
	}
	return l
}

func (l life) bytes() (replies, acts []byte) {
	for _, r := range l.replies {
		replies = append(replies, byte(r))
	}
	for _, a := range l.acts {
		acts = append(acts, byte(a))
	}
	return replies, acts
}

// FuzzEnvironmentAndServerAgree holds the law of this package: what a program sees of its agents is the same in the test environment and on
// a server. The seeds have the forms of the recorded histories of package workflows, and each kind of reply and act.
func FuzzEnvironmentAndServerAgree(f *testing.F) {
	files, err := filepath.Glob("../workflows/testdata/histories/*/*.json.gz")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	var seeds []life
	for _, file := range files {
		seeds = append(seeds, recorded(f, file))
	}
	for r := range replyKinds {
		seeds = append(seeds, life{replies: []reply{r, r}, acts: []act{no, goOn, again}})
	}
	seeds = append(seeds, life{replies: []reply{several, orders}, acts: []act{last, other, no}})
	seen := map[string]bool{}
	for _, seed := range seeds {
		if text := fmt.Sprint(seed); !seen[text] {
			seen[text] = true
			replies, acts := seed.bytes()
			f.Add(replies, acts)
		}
	}
	f.Fuzz(func(t *testing.T, replies, acts []byte) {
		l := lifeOf(replies, acts)
		t.Parallel()
		require.Equal(t, lived(t, l, reagenttest.New), lived(t, l, reagenttest.OnServer), "%+v", l)
	})
}

// outcome is what a program sees of a life.
type outcome struct {
	Said         []string // the answer after each act
	Acts         []string // what was done, and on which call
	Text, Helper string   // the transcripts of the clerk and of its newest sub-agent
	Status       agent.Status
	Calls        []reagenttest.MadeCall
	Effects      []reagenttest.Effect
	Usage        agent.Usage
	Requests     []string
}

func lived(t *testing.T, l life, with func(testing.TB, reagent.Options) *reagenttest.Agents) outcome {
	agents := with(t, house(l))
	run := agents.Chat("clerk", "clerk")
	var saw outcome
	acts := l.acts
	for steps := 0; !run.Status().Ended(); steps++ {
		require.Less(t, steps, 60, "the life does not end: %s", strings.Join(saw.Acts, ", "))
		next := goOn
		if len(acts) > 0 {
			next, acts = acts[0], acts[1:]
		}
		saw.Acts = append(saw.Acts, next.on(run))
		saw.Said = append(saw.Said, run.Said())
	}
	saw.Text, saw.Status, saw.Calls, saw.Effects, saw.Usage = run.Text(), run.Status(), run.Calls(), agents.Effects(""), run.Usage()
	if slices.ContainsFunc(saw.Calls, func(c reagenttest.MadeCall) bool { return c.Name == "helper" }) {
		saw.Helper = run.SubAgent("helper").Text()
	}
	for i := range saw.Calls {
		if saw.Calls[i].Decider != nil {
			saw.Calls[i].Decider.Time = 0
		}
	}
	for i := range saw.Effects { // keys and IDs differ from agent to agent
		saw.Effects[i].AgentID, saw.Effects[i].Key = "", ""
	}
	for _, request := range agents.Requests("main") {
		saw.Requests = append(saw.Requests, fmt.Sprint(request.Messages))
	}
	// Calls of one reply run at the same time, and so do sub-agents.
	slices.SortFunc(saw.Effects, func(a, b reagenttest.Effect) int { return strings.Compare(a.Tool+a.Arguments, b.Tool+b.Arguments) })
	slices.Sort(saw.Requests)
	return saw
}

// on does the act, and returns what it was.
func (a act) on(run *reagenttest.Agent) string {
	switch run.WaitsFor() {
	case agent.WaitsForSubAgents:
		a.on(run.SubAgent("helper"))
		run.Settle()
		return "sub-agent"
	case agent.WaitsForApproval, agent.WaitsForAnswer, agent.WaitsForResult:
		return a.decide(run)
	case agent.WaitsForMessage:
		if a == again {
			run.Send("more")
			return "message"
		}
	}
	if run.Status() == agent.Held && a == again {
		run.Send("try again")
		return "message to a held agent"
	}
	run.Close()
	return "close"
}

func (a act) decide(run *reagenttest.Agent) string {
	waiting := run.Waits()
	call := waiting[0]
	if a == last {
		call = waiting[len(waiting)-1]
	}
	name := call.Name + " " + call.Arguments
	switch wait := call.WaitsFor(); {
	case wait == agent.WaitsForAnswer:
		run.Answer("green")
	case wait == agent.WaitsForResult && a == no:
		run.Fail(name, "no luck")
	case wait == agent.WaitsForResult:
		run.Complete(name, "deployed")
	case a == no:
		run.Deny(name, "too much")
	case a == other:
		run.ApproveAs(name, `{"name":"apple"}`)
	default:
		run.Approve(name)
	}
	return fmt.Sprintf("act %d on %s", a, name)
}

// house returns the options of a program in which each kind of reply has something to do.
func house(l life) reagent.Options {
	o := shop(reagenttest.Func(l.reply))
	deploy, err := tool.NewExternal(tool.Spec{Name: "deploy", Description: "Deploys."})
	if err != nil {
		panic(err)
	}
	o.Tools = append(o.Tools, deploy, reagent.Func("break", "Fails.", reagent.ReadOnly, func(context.Context, order) (string, error) {
		return "", errors.New("broken")
	}))
	o.Agents[0].Tools = append(o.Agents[0].Tools, "deploy", "break")
	o.Agents[0].ApprovalTimeout = 0
	return o
}

// reply is the model. It counts the replies in the request, and knows the helper by its first message.
func (l life) reply(_ context.Context, req llm.Request) (llm.Reply, error) {
	replies := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			replies++
		}
	}
	first := req.Messages[slices.IndexFunc(req.Messages, func(m llm.Message) bool { return m.Role == llm.User })].Content
	kind := say
	switch {
	case first == "order" && replies == 0:
		kind = approved
	case first == "clerk" && replies < len(l.replies):
		kind = l.replies[replies]
	}
	return kind.of(replies)
}

func (r reply) of(n int) (llm.Reply, error) {
	one := func(name, arguments string) llm.ToolCall {
		return reagenttest.ToolCall(fmt.Sprint(name, n), name, arguments)
	}
	fruit := fmt.Sprintf(`{"name":"fruit %d"}`, n)
	switch r {
	case price:
		return usage(reagenttest.Call(one("price", fruit)), 10, 1), nil
	case approved:
		return usage(reagenttest.Call(one("order", fruit)), 10, 1), nil
	case asked:
		return reagenttest.Call(one("ask_user", `{"question":"Which colour?","choices":["green","red"]}`)), nil
	case outside:
		return reagenttest.Call(one("deploy", `{}`)), nil
	case breaks:
		return reagenttest.Call(one("break", fruit)), nil
	case unknown:
		return reagenttest.Call(one("fly", `{}`)), nil
	case several:
		return reagenttest.Call(one("price", fruit), one("order", fruit), one("book", fruit)), nil
	case helps:
		return reagenttest.Call(one("helper", `{"task":"help"}`)), nil
	case orders:
		return reagenttest.Call(one("helper", `{"task":"order"}`)), nil
	case refused:
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no"}
	default:
		return usage(reagenttest.Say(fmt.Sprint("text ", n)), 5, 2), nil
	}
}

// recorded returns the life that has the form of a recorded history: a reply for each reply of the model, and an act for each update.
func recorded(t testing.TB, file string) life {
	r, err := histories.Read(file)
	require.NoError(t, err)
	var l life
	called := map[int64]bool{}
	for _, e := range r.History.Events {
		switch e.EventType {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			called[e.EventId] = e.GetActivityTaskScheduledEventAttributes().ActivityType.Name == protocol.CallModel
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			if a := e.GetActivityTaskCompletedEventAttributes(); called[a.ScheduledEventId] {
				var out struct {
					Message llm.Message `json:"message"`
				}
				require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(a.Result, &out))
				l.replies = append(l.replies, formOf(out.Message))
			}
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
			switch input := e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput(); input.GetName() {
			case protocol.MessageUpdate:
				l.acts = append(l.acts, again)
			case protocol.DecideUpdate:
				var d agent.Decision
				require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(input.Args, &d))
				a := goOn
				if !d.Approve && d.Result == nil {
					a = no
				}
				l.acts = append(l.acts, a)
			}
		}
	}
	return lifeOf(l.bytes())
}

// formOf returns the reply that is most like a recorded one.
func formOf(m llm.Message) reply {
	if len(m.ToolCalls) > 1 {
		return several
	}
	if len(m.ToolCalls) == 0 {
		return say
	}
	switch name := m.ToolCalls[0].Name; {
	case name == agent.AskUser:
		return asked
	case name == "deploy":
		return outside
	case strings.HasSuffix(name, "wire"):
		return approved
	case name == "y", name == "z":
		return helps
	default:
		return price
	}
}
