package lab

import (
	"context"
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Scenario is a conversation of a test with an agent. The replies of the model are in [scripts].
type Scenario struct {
	Name string
	// messages are the messages to the agent, in order. If there is more than one message, the agent is a chat.
	messages []string
	// inner is a part of the ID of the innermost agent: the one without sub-agents. parent is a part of the ID of the agent that
	// starts the innermost agent. Empty means the agent that gets the messages.
	parent, inner string
	// people says that people settle the calls of the agent: see [people]. The agent is then the planner, and not x.
	people bool
	// model names a model call of the innermost agent by its [place]. read and pay name tool calls of this agent by the name of
	// the tool and the arguments.
	model, read, pay string
}

// Scenarios are all scenarios. Their agents are in one configuration file.
var Scenarios = []Scenario{
	{Name: "task", messages: []string{"task"}, model: "task 1", read: `read {"n":1}`, pay: `pay {"n":2}`},
	{Name: "parallel tools", messages: []string{"parallel"}, model: "parallel 0", read: `read {"n":3}`, pay: `pay {"n":4}`},
	{
		Name: "sub-agent", messages: []string{"ask the clerk"}, inner: "/clerk",
		model: "count 1", read: `read {"n":6}`, pay: `pay {"n":7}`,
	},
	{
		Name: "nested sub-agent", messages: []string{"ask the chief"}, parent: "/chief", inner: "/clerk",
		model: "count 1", read: `read {"n":6}`, pay: `pay {"n":7}`,
	},
	{Name: "chat", messages: []string{"one", "two", "three"}, model: "two 0", read: `read {"n":9}`, pay: `pay {"n":8}`},
	{
		Name: "people", messages: []string{"plan it"}, inner: "/clerk", people: true,
		model: "count 1", read: `read {"n":6}`, pay: `pay {"n":7}`,
	},
}

func (s Scenario) chat() bool { return len(s.messages) > 1 }

func (s Scenario) children() bool { return s.inner != "" }

// agent returns the name of the agent that gets the messages.
func (s Scenario) agent() string {
	if s.people {
		return "planner"
	}
	return "x"
}

// Parallel reports whether tools run at the same time.
func (s Scenario) Parallel() bool { return s.Name == "parallel tools" }

// chiefAndClerk is a part of a configuration file: the agent chief and its sub-agent clerk.
const chiefAndClerk = `  chief:
    model: main
    description: asks the clerk
    agents: [clerk]
  clerk:
    model: main
    description: counts
    tools: [far.*]
`

// teamOf returns a part of a configuration file: the last fields of the agent x, and the other agents of all scenarios. The planner
// calls the clerk in the background. A hook at the given address is notified of calls that wait.
func teamOf(hook string) string {
	return `    tools: [far.*]
    agents: [chief, clerk]
` + chiefAndClerk + `  planner:
    model: main
    tools: [far.*, deploy, ask_user]
    approval: {far.wire: always}
    agents: [clerk]
    background: [clerk]
` + fmt.Sprintf(outside, hook, "waits")
}

// outside is a part of a configuration file, after the agents: the tool deploy, whose results come from outside, and a hook. It is a
// format for the address of the hook and its occasions.
const outside = `external:
  deploy: {description: deploys}
notify:
  pager: {url: %q, on: [%s]}
`

// clerkAnswers is the message with which the planner gets the answer of the clerk.
const clerkAnswers = "The agent of call 1 of clerk, which worked in the background, has its result now:\n\nI have counted."

// asHeard returns what an undisturbed planner says if it gets the answer of the clerk as early as the planner in the parameter got. An
// undisturbed planner has always asked the model for its next reply before the clerk has answered. If a disturbance delays this request,
// the answer comes first. Then the planner makes no request without it. For all other agents, asHeard returns t.
func (t Told) asHeard(got Told) Told {
	at := slices.IndexFunc(t.messages, func(l line) bool { return l.content == clerkAnswers })
	const early = 3 // behind the first reply and its result
	if at > early && len(got.messages) > early && got.messages[early].content == clerkAnswers {
		t.messages = slices.Concat(t.messages[:early], t.messages[at:])
	}
	return t
}

// scripts has the model's replies to each user message, in order.
var scripts = map[string][]llm.Reply{
	"task": {
		llmtest.Call(llmtest.ToolCall("1", "read", `{"n":1}`)),
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":2}`)),
		llmtest.Say("The task is done."),
	},
	"parallel": {
		llmtest.Call(llmtest.ToolCall("1", "read", `{"n":3}`), llmtest.ToolCall("2", "pay", `{"n":4}`),
			llmtest.ToolCall("3", "pay", `{"n":4}`), llmtest.ToolCall("4", "read", `{"n":5}`)),
		llmtest.Say("All four are done."),
	},
	"ask the clerk": {
		llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)),
		llmtest.Say("The clerk has counted."),
	},
	"ask the chief": {
		llmtest.Call(llmtest.ToolCall("1", "chief", `{"task":"have it counted"}`)),
		llmtest.Say("The chief has had it counted."),
	},
	"have it counted": {
		llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)),
		llmtest.Say("The clerk has counted for me."),
	},
	"count": {
		llmtest.Call(llmtest.ToolCall("1", "read", `{"n":6}`)),
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":7}`)),
		llmtest.Say("I have counted."),
	},
	"plan it": {
		llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)),
		llmtest.Call(llmtest.ToolCall("2", "ask_user", `{"question":"how many?"}`), llmtest.ToolCall("3", "wire", `{"n":10}`),
			llmtest.ToolCall("4", "deploy", `{"n":11}`)),
	},
	clerkAnswers: {
		llmtest.Call(llmtest.ToolCall("5", "wire", `{"n":12}`)),
		llmtest.Say("All is planned."),
	},
	"one": {llmtest.Say("One it is.")},
	"two": {
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":8}`)),
		llmtest.Say("Two it is."),
	},
	"three": {
		llmtest.Call(llmtest.ToolCall("1", "read", `{"n":9}`)),
		llmtest.Say("Three it is."),
	},
}

// place returns the last user message of a model request, and the number of replies to this message. Together they name the
// model call in the script. The scripted model chooses its reply by them, so it gives the same reply to the same request.
func place(req llm.Request) (text string, step int) {
	for _, m := range req.Messages {
		switch m.Role {
		case llm.User:
			text, step = m.Content, 0
		case llm.Assistant:
			step++
		}
	}
	return text, step
}

// far implements the model and the tools of all scenarios. It records the model requests and the effects of tools in the
// ledger. A test can set functions that far calls at certain moments. Each function gets the place of the call, as in the
// fields of [Scenario]. If the function returns an error, the call fails.
type far struct {
	ledger *Ledger
	// asked is called before the model replies, called before a tool takes effect, and paid after that. Each may be nil.
	asked, called, paid func(ctx context.Context, place string) error
	// unscripted replies to messages that are not in [scripts]. It gets a message and the number of the replies to it. If it does
	// not know the message, it returns false. The field may be nil.
	unscripted func(text string, step int) (llm.Reply, bool)
}

func (f *far) model(ctx context.Context, req llm.Request) (llm.Reply, error) {
	text, step := place(req)
	at := fmt.Sprint(text, " ", step)
	f.ledger.asked(req, at)
	if err := pass(ctx, f.asked, at); err != nil {
		return llm.Reply{}, err
	}
	if f.unscripted != nil {
		if reply, ok := f.unscripted(text, step); ok {
			return reply, nil
		}
	}
	if step >= len(scripts[text]) {
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "nothing is scripted for " + at}
	}
	return scripts[text][step], nil
}

func (f *far) tool(ctx context.Context, e world.Effect) (string, error) {
	at := e.Tool + " " + e.Arguments
	if err := pass(ctx, f.called, at); err != nil {
		return "", err
	}
	f.ledger.done(e)
	return "did " + at, pass(ctx, f.paid, at)
}

func pass(ctx context.Context, hook func(context.Context, string) error, at string) error {
	if hook == nil {
		return nil
	}
	return hook(ctx, at)
}
