package runbook_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// orders is a model that calls the tool order once, and then answers.
func orders(_ context.Context, req llm.Request) (llm.Reply, error) {
	if req.Messages[len(req.Messages)-1].Role == llm.User {
		return llmtest.Call(llmtest.ToolCall(fmt.Sprint(len(req.Messages)), "order", `{}`)), nil
	}
	return llmtest.Say("done"), nil
}

var alert = regexp.MustCompile("`(Reagent\\w+)`")

// Each named block of the page is followed by a test, and each alert that it names exists.
func TestPageIsFollowed(t *testing.T) {
	source, err := os.ReadFile(world.Path("e2e/runbook/runbook_test.go"))
	require.NoError(t, err)
	names := blocks(t)
	require.Len(t, names, 11)
	for name := range names {
		require.Contains(t, string(source), fmt.Sprintf("follow(%q", name))
	}
	rules, err := os.ReadFile(world.Path("deploy/prometheus/alerts.yaml"))
	require.NoError(t, err)
	alerts := alert.FindAllStringSubmatch(page(t), -1)
	require.Greater(t, len(alerts), 5)
	for _, named := range alerts {
		require.Contains(t, string(rules), "- alert: "+named[1]+"\n")
	}
}

// The only worker is killed in the middle of a call. The worker of the page makes the call again.
func TestWorkerIsLost(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("order", world.ReadOnly, func(ctx context.Context, _ world.Effect) (string, error) { return "ordered", g.Pass(ctx) })
	s := stage(t, orders, tools, "")
	lost := s.Worker()
	s.Must("run", "--detach", "--id", "order-7", "go")
	g.Wait(t)
	lost.Kill()
	require.Regexp(t, `: \d workers?: `, s.follow("worker-lost"), "the lost worker is counted for some time")
	s.Finished("order-7", "done")
	require.Equal(t, int32(2), g.Calls.Load(), "the call that was lost is made once more")
	require.NotContains(t, s.follow("first"), "problem")
}

// Temporal cannot be reached while a call ends. Nothing is lost, and nothing is done twice.
func TestTemporalIsAway(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("order", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "ordered", g.Pass(ctx) })
	s := stage(t, orders, tools, "")
	network := world.NewProxy(t, s.Address)
	server := s.Address
	s.Address = network.Address()
	s.Worker()
	s.Address = server
	s.Must("run", "--detach", "--id", "order-7", "go")
	g.Wait(t)
	network.Cut()
	close(g.Open)
	s.Eventually("the tool has answered", func() bool { return len(tools.Effects()) == 1 })
	network.Restore()
	s.follow("temporal-away")
	s.Finished("order-7", "done")
	require.Len(t, tools.Effects(), 1)
	require.Equal(t, int32(1), g.Calls.Load())
	s.NothingTwice()
}

// A provider refuses all calls. A task fails, and a chat is held; when the provider is back, both answer.
func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	s := stage(t, func(context.Context, llm.Request) (llm.Reply, error) {
		if down.Load() {
			return llm.Reply{}, &llm.Error{Class: llm.Overloaded, Message: "come back later", Status: 529, RetryAfter: time.Millisecond}
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	s.Worker()
	s.Must("run", "--detach", "--id", "task", "go")
	s.Must("run", "--chat", "--detach", "--id", "talk", "go")
	s.Ends("task", "failed")
	s.Eventually("the chat is held", func() bool { return s.Show("talk").Status == "held" })
	require.Contains(t, s.follow("first"), "talk")
	s.Eventually("Temporal lists the failed task", func() bool { return strings.Contains(s.Must("list", "--where", "failed"), "task") })
	down.Store(false)
	out := s.follow("provider-back")
	require.Contains(t, out, "the model main answers")
	s.Finished("task", "done")
	s.Eventually("the chat has answered", func() bool { return s.Show("talk").Status == "waiting" && s.Show("talk").Answer == "done" })
	messages := len(s.Show("talk").Lines())
	s.follow("provider-back")
	require.Len(t, s.Show("talk").Lines(), messages, "repeating the commands does no harm")
}

// The workers of a deploy do not have a tool that running agents use. The workers of the page have it, and the call runs once.
func TestDeployHasRemovedATool(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("order", nil, world.Echo)
	g := world.NewGate()
	s := stage(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if err := g.Pass(ctx); err != nil {
			return llm.Reply{}, err
		}
		return orders(ctx, req)
	}, tools, "")
	good := s.Config
	old := s.Worker()
	s.Must("run", "--detach", "--id", "order-7", "go")
	g.Wait(t)
	yaml, err := os.ReadFile(good)
	require.NoError(t, err)
	other := world.NewToolServer(t)
	other.Add("pay", nil, world.Echo)
	s.WriteConfig(strings.NewReplacer(tools.URL, other.URL).Replace(string(yaml)))
	bad := s.Worker()
	old.Terminate()
	s.Eventually("the old worker takes no work any more", func() bool { return strings.Contains(old.Output(), "Stopping") })
	close(g.Open)
	s.Eventually("the call waits for a worker that has the tool", func() bool { return strings.Contains(s.Must("show", "order-7"), "no worker") })
	require.Empty(t, tools.Effects())
	bad.Terminate()
	s.follow("tool-removed", "ID=order-7", "GOOD_CONFIG="+good)
	s.Finished("order-7", "done")
	require.Len(t, tools.Effects(), 1)
	s.NothingTwice()
}

// Chats with a bad prompt get the good one, all at once.
func TestPromptIsBad(t *testing.T) {
	t.Parallel()
	s := stage(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(req.Messages[0].Content), nil
	}, nil,
		"    instructions: bad\n")
	first := s.Worker()
	const chats = 30
	for i := range chats {
		s.Must("run", "--chat", "--detach", "--id", fmt.Sprint("talk-", i), "hello")
	}
	first.Terminate()
	first.Wait()
	yaml, err := os.ReadFile(s.Config)
	require.NoError(t, err)
	s.WriteConfig(strings.Replace(string(yaml), "instructions: bad", "instructions: good", 1))
	s.env["REAGENT_CONFIG"] = s.Config
	s.Worker()
	s.Eventually("all chats have answered", func() bool {
		return strings.Count(s.Must("list", "--where", "waiting", "--limit", "0", "--json"), "\n") == chats
	})
	out := s.follow("bad-prompt", "ID=talk-0")
	require.Contains(t, out, fmt.Sprintf("%d of %d agents reloaded", chats, chats))
	require.True(t, strings.HasSuffix(out, "\n0\n"), "no chat has the bad prompt: %s", out)
	s.Must("send", "talk-7", "and now?")
	require.Equal(t, "good", s.Show("talk-7").Answer)
}

// An agent calls tools for ever, and each call costs. After the page's commands, it asks no model.
func TestAgentRunsAway(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("order", nil, world.Echo)
	s := stage(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llm.Reply{
			Message: llmtest.Call(llmtest.ToolCall("1", "order", fmt.Sprintf(`{"n":%d}`, len(req.Messages)))).Message, Usage: llm.Usage{InputTokens: 1_000_000},
		}, nil
	}, tools, "    limits: {model_calls: 100000}\n")
	yaml, err := os.ReadFile(s.Config)
	require.NoError(t, err)
	s.WriteConfig(strings.Replace(string(yaml), "{model: scripted,", "{model: scripted, price: {input: 1, output: 1},", 1))
	s.env["REAGENT_CONFIG"] = s.Config
	s.Worker()
	s.Must("run", "--chat", "--detach", "--id", "wild", "go")
	s.Eventually("it has cost a dollar", func() bool { return strings.Contains(s.Must("list", "--where", "open and cost > 0.5"), "wild") })
	s.follow("runaway", "ID=wild")
	require.Equal(t, "held", s.Show("wild").Status)
	asked := len(s.Model.Requests())
	require.Contains(t, s.follow("first"), "wild")
	require.Len(t, s.Model.Requests(), asked)
}

// A tool never answers. The agent goes on without it.
func TestAgentIsStuck(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("order", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "", g.Pass(ctx) })
	s := stage(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "order", `{}`)), nil
		}
		return llmtest.Say("without it"), nil
	}, tools, "")
	s.Worker()
	s.Must("run", "--chat", "--detach", "--id", "talk", "go")
	g.Wait(t)
	require.Contains(t, s.follow("stuck", "ID=talk"), "without it")
}

// The provider revokes a key while agents work. With the new key, they go on.
func TestKeyHasLeaked(t *testing.T) {
	t.Parallel()
	var revoked atomic.Bool
	s := stage(t, func(context.Context, llm.Request) (llm.Reply, error) {
		if revoked.Load() {
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Message: "revoked", Status: 401}
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	s.Worker()
	revoked.Store(true)
	s.Must("run", "--detach", "--id", "task", "go")
	s.Must("run", "--chat", "--detach", "--id", "talk", "go")
	s.Ends("task", "failed")
	s.Eventually("the chat is held", func() bool { return s.Show("talk").Status == "held" })
	s.Eventually("Temporal lists the failed task", func() bool { return strings.Contains(s.Must("list", "--where", "failed"), "task") })
	revoked.Store(false)
	s.follow("key-leaked")
	s.Finished("task", "done")
	s.Eventually("the chat has answered", func() bool { return s.Show("talk").Answer == "done" })
}

// After the page's commands, Temporal has nothing of the customer, and all of the other one.
func TestCustomerIsForgotten(t *testing.T) {
	t.Parallel()
	s := stageOn(t, world.StartDeletingServer(t), world.Counting, nil, "")
	s.Worker()
	for _, customer := range []string{"42", "43"} {
		s.Must("run", "--id", "task-"+customer, "--metadata", "customer="+customer, "go")
		s.Must("run", "--chat", "--detach", "--id", "talk-"+customer, "--metadata", "customer="+customer, "go")
	}
	s.Eventually("Temporal lists the agents", func() bool { return strings.Count(s.Must("list", "--metadata", "customer=42", "--json"), "\n") == 2 })
	require.Regexp(t, `(?m)^0$`, s.follow("forget", "CUSTOMER=42"))
	require.Equal(t, 2, strings.Count(s.Must("list", "--metadata", "customer=43", "--json"), "\n"))
}

// A worker is replaced while it makes a call. The call ends on the old one, and the next one runs on the new one.
func TestLibraryIsUpgraded(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("order", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "ordered", g.Pass(ctx) })
	s := stage(t, orders, tools, "")
	old := s.Worker()
	s.Must("run", "--detach", "--id", "order-7", "go")
	g.Wait(t)
	require.NotContains(t, s.follow("upgrade", fmt.Sprint("OLD_WORKER=", old.Cmd.Process.Pid)), "stuck")
	close(g.Open)
	s.Finished("order-7", "done")
	old.Wait()
	require.Equal(t, int32(1), g.Calls.Load())
	s.NothingTwice()
	s.Must("run", "--id", "order-8", "go")
}
