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

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// dialed returns a client of the shared Temporal server. The client has the options that the environment variables
// name, such as a codec server.
func dialed(t *testing.T) sdk.Client {
	options, err := dial.ClientOptions(world.Server.Address(), "")
	require.NoError(t, err)
	c, err := sdk.Dial(options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// stored returns all that Temporal stores about the newest run of an agent, as a client without the codec reads it.
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

// With a codec server, Temporal stores no text of an agent unencrypted. Such an agent can still be shown, reset,
// resumed, forked and listed, and nothing is done twice.
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

	// A fork reads the encrypted messages.
	w.Must("fork", t.Name(), "--id", t.Name()+"-fork", "--message", "and then?")
	require.Equal(t, s.Lines(), w.Show(t.Name() + "-fork").Lines()[:5])
	hidden(t.Name() + "-fork")

	// A terminated agent is read and goes on.
	w.Must("run", "-a", "x", "--chat", "--id", t.Name()+"-chat", task)
	require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), t.Name()+"-chat", "", "test"))
	require.Equal(t, "terminated", w.Show(t.Name()+"-chat").Status)
	w.Must("resume", t.Name()+"-chat", "--message", "once more")
	require.Equal(t, append(s.Lines(), "user: once more", "assistant: "+answer), w.Show(t.Name()+"-chat").Lines())
	hidden(t.Name() + "-chat")
	w.NothingTwice()

	// The text of a failure is encrypted, too.
	_, errs, code := w.Starter("run", "-a", "x", "--id", t.Name()+"-failed", failure)
	require.Equal(t, 3, code)
	require.Contains(t, errs, failure)
	require.Contains(t, w.Show(t.Name()+"-failed").Error, failure)
	hidden(t.Name() + "-failed")

	// The list takes the names of agents from memos.
	w.Eventually("the list tells them apart", func() bool {
		return len(w.List("--agent", "x")) == 4 && len(w.List("--agent", "clerk")) == 2
	})
}

// If the codec server does not answer for a while, agents wait for it. No call is repeated, and no agent fails.
func TestCodecServerMayGoAway(t *testing.T) {
	codec := world.ServeCodec()
	defer codec.Close()
	world.UseCodec(codec, t.Setenv)

	// At first the worker cannot encode the tool's result, and then the workflow cannot decode it.
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
