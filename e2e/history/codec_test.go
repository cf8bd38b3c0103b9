package history_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// dialed is a client of the shared server as the environment wants it.
func dialed(t *testing.T) sdk.Client {
	options, err := config.ClientOptions(world.Server.Address(), "")
	require.NoError(t, err)
	c, err := sdk.Dial(options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// stored is all that Temporal keeps of an agent's newest run and tells whoever asks.
func stored(t *testing.T, id string) []byte {
	bare, err := sdk.Dial(sdk.Options{HostPort: world.Server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	defer bare.Close()
	found, err := bare.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	all, err := proto.Marshal(found)
	require.NoError(t, err)
	events := bare.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		data, err := proto.Marshal(event)
		require.NoError(t, err)
		all = append(all, data...)
	}
	return all
}

// Temporal sees nothing of what agents are told, say and do, and everything that can be done with
// agents can be done with these: they are found, read, reset, resumed and forked, and repeat nothing.
func TestPayloadsAreEncrypted(t *testing.T) {
	codec := world.ServeCodec()
	defer codec.Close()
	world.UseCodec(codec, t.Setenv)

	const (
		instructions = "SecretInstructions"
		task         = "SecretTask"
		arguments    = "SecretArguments"
		result       = "SecretResult"
		childTask    = "SecretChildTask"
		childAnswer  = "SecretChildAnswer"
		answer       = "SecretAnswer"
		failure      = "SecretFailure"
	)
	secrets := []string{instructions, task, arguments, result, childTask, childAnswer, answer, failure}
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(context.Context, world.Effect) (string, error) { return result, nil })
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch last.Content {
		case childTask:
			return llmtest.Say(childAnswer), nil
		case failure:
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: failure}
		case task:
			return llmtest.Call(
				llmtest.ToolCall("1", "pay", `{"for":"`+arguments+`"}`),
				llmtest.ToolCall("2", "clerk", `{"task":"`+childTask+`"}`),
			), nil
		}
		return llmtest.Say(answer), nil
	}, tools, "    tools: [far.*]\n    agents: [clerk]\n    instructions: "+instructions+"\n  clerk:\n    model: main\n    instructions: "+instructions+"\n")
	w.Temporal = dialed(t)
	w.Client = world.AgentsOf(w.Temporal, w.Queue)
	worker := w.Worker()
	require.Contains(t, worker.Output(), "Payloads    pass through a codec server\n")
	hidden := func(id string) {
		t.Helper()
		kept := stored(t, id)
		require.Contains(t, string(kept), world.VaultEncoding)
		for _, secret := range secrets {
			require.False(t, bytes.Contains(kept, []byte(secret)), "%s is in clear in %s", secret, id)
		}
	}

	w.Must("run", "-a", "x", "--id", t.Name(), task)
	s := w.Show(t.Name())
	require.Equal(t, []string{
		"user: " + task, `assistant: [pay {"for":"` + arguments + `"}][clerk {"task":"` + childTask + `"}]`,
		"tool: " + result, "tool: " + childAnswer, "assistant: " + answer,
	}, s.Lines())
	require.Len(t, s.Children, 1)
	hidden(t.Name())
	hidden(s.Children[0].ID)
	require.Equal(t, "user: "+childTask, w.Show(s.Children[0].ID).Lines()[0])

	// A reset recalls what it did and finds its sub-agent.
	w.Reset(t.Name(), "", 1)
	w.Finished(t.Name(), answer)
	require.Equal(t, s.Lines(), w.Show(t.Name()).Lines())
	w.NothingTwice()
	hidden(t.Name())

	// A fork reads it.
	w.Must("fork", t.Name(), "--id", t.Name()+"-fork", "--message", "and then?")
	require.Equal(t, s.Lines(), w.Show(t.Name() + "-fork").Lines()[:5])
	hidden(t.Name() + "-fork")

	// A terminated one is read and goes on.
	w.Must("run", "-a", "x", "--chat", "--id", t.Name()+"-chat", task)
	require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), t.Name()+"-chat", "", "test"))
	require.Equal(t, "terminated", w.Show(t.Name()+"-chat").Status)
	w.Must("resume", t.Name()+"-chat", "--message", "once more")
	require.Equal(t, append(s.Lines(), "user: once more", "assistant: "+answer), w.Show(t.Name()+"-chat").Lines())
	hidden(t.Name() + "-chat")
	w.NothingTwice()

	// So are the words of a failure.
	_, errs, code := w.Starter("run", "-a", "x", "--id", t.Name()+"-failed", failure)
	require.Equal(t, 3, code)
	require.Contains(t, errs, failure)
	require.Contains(t, w.Show(t.Name()+"-failed").Error, failure)
	hidden(t.Name() + "-failed")

	// The names of agents are in memos.
	w.Eventually("the list tells them apart", func() bool {
		return len(w.List("--agent", "x")) == 4 && len(w.List("--agent", "clerk")) == 2
	})
}

// A codec server that goes away holds everything up, and decides nothing: not that a call is made
// again, not that an agent fails.
func TestCodecServerMayGoAway(t *testing.T) {
	codec := world.ServeCodec()
	defer codec.Close()
	world.UseCodec(codec, t.Setenv)

	// The tool's result cannot be encoded at first, and the workflow cannot decode it then.
	taskFails := make(chan struct{})
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(context.Context, world.Effect) (string, error) {
		codec.Away.Store("/encode")
		go func() {
			defer close(taskFails)
			world.Eventually(t, "the result is not encoded", func() bool { return codec.Refused.Load() >= 3 })
			codec.Away.Store("/decode")
			world.Eventually(t, "the result is not decoded", func() bool { return codec.Refused.Load() >= 4 })
			codec.Away.Store("")
		}()
		return "paid", nil
	})
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done")), tools, "")
	w.Temporal = dialed(t)
	w.Client = world.AgentsOf(w.Temporal, w.Queue)
	w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "pay")
	<-taskFails
	w.Finished(t.Name(), "done")
	require.Equal(t, []string{"user: pay", "assistant: [pay {}]", "tool: paid", "assistant: done"}, w.Show(t.Name()).Lines())
	w.NothingTwice()
}
