package history_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
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

// A program gives its codec once, to the plugin of its Temporal client. The worker, its activities, the client that reads agents and, through a
// codec server, starter then use it. Nobody without the key reads anything, and is told why. What is readable is shown all the same.
func TestCodecIsGivenOnce(t *testing.T) {
	const secret = "SecretText"
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "") // of a run of all tests with a codec server
	t.Setenv("TEMPORAL_CODEC_AUTH", "")
	codec, err := reagent.NewEncryptionCodec(reagent.EncryptionOptions{Keys: map[string][]byte{"k1": make([]byte, 32)}, KeyID: "k1"})
	require.NoError(t, err)
	plugin := reagent.NewClientPlugin(codec)
	connection, err := sdk.Dial(sdk.Options{
		HostPort: world.Server.Address(), Plugins: []sdk.Plugin{plugin}, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	defer connection.Close()
	model := llmtest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == llm.User && last.Content == secret:
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"`+secret+` for the clerk"}`)), nil
		case last.Role == llm.Tool && last.Content == secret+" of the clerk":
			return llmtest.Call(llmtest.ToolCall("2", "pay", `{"for":"`+secret+`"}`)), nil
		}
		return llmtest.Say(secret + " of the clerk"), nil
	})
	var paid atomic.Int32
	pay := reagent.Func("pay", "pays", tool.AtMostOnce, func(context.Context, struct {
		For string `json:"for"`
	}) (string, error) {
		paid.Add(1)
		return secret, nil
	})
	queue := "q-" + t.Name() + "-encrypted"
	agents, err := reagent.New(t.Context(), connection, reagent.Options{
		TaskQueue: queue, Models: map[string]reagent.Model{"main": {Name: "scripted", Client: model}}, Tools: []reagent.Tool{pay},
		Agents: []reagent.Agent{
			{Name: "x", Model: "main", Tools: []string{"pay"}, Agents: []string{"clerk"}, Approval: reagent.ApprovalPolicy{"pay": reagent.ApprovalAlways}},
			{Name: "clerk", Model: "main"},
		},
	})
	require.NoError(t, err)
	running := worker.New(connection, queue, worker.Options{Plugins: []worker.Plugin{agents}})
	require.NoError(t, running.Start())
	defer running.Stop()

	client := plugin.Client(connection, queue)
	_, err = client.Start(t.Context(), reagent.StartOptions{ID: t.Name(), Agent: "x", Message: secret})
	require.NoError(t, err)
	world.Eventually(t, "the call waits", func() bool {
		waiting, err := client.Pending(t.Context(), t.Name())
		return err == nil && len(waiting) == 1 && waiting[0].Call.Name == "pay"
	})
	kept := stored(t, t.Name())
	require.Contains(t, string(kept), "encryption-key-id")
	require.NotContains(t, string(kept), secret)

	// An agent without the codec waits beside it.
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"which?"}`)), llmtest.Say("done")), nil, "    tools: [ask_user]\n")
	w.Worker()
	w.Must("run", "--detach", "--id", t.Name()+"-plain", "ask")
	w.Eventually("both wait", func() bool {
		out, errs, code := w.Starter("inbox")
		return code == 8 && strings.Contains(out, t.Name()+"-plain") && strings.Contains(errs, "agent "+t.Name()+",") && strings.Contains(errs, "TEMPORAL_CODEC_ENDPOINT")
	})
	for _, command := range []string{"show", "tail", "chat", "send"} {
		_, errs, code := w.StarterWith("hello\n", slices.Concat([]string{command, t.Name()}, map[string][]string{"send": {"hello"}}[command])...)
		require.NotZero(t, code, command)
		require.Contains(t, errs, "TEMPORAL_CODEC_ENDPOINT", command)
	}
	_, errs, code := w.Starter("list")
	require.Zero(t, code)
	require.Contains(t, errs, "TEMPORAL_CODEC_ENDPOINT")
	w.Must("answer", t.Name()+"-plain", "this one")
	w.Finished(t.Name()+"-plain", "done") // the inbox of other tests does not show it

	server := httptest.NewServer(converter.NewPayloadCodecHTTPHandler(codec))
	defer server.Close()
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", server.URL)
	w.Must("approve", t.Name())
	ended := func() bool {
		s, err := client.Describe(t.Context(), t.Name())
		return err == nil && s.Status == "completed"
	}
	world.Eventually(t, "the agent ends", ended)
	require.Contains(t, w.Must("show", t.Name()), secret+" of the clerk")

	// The activities read the runs of the agent, too: after a reset, the payment is recalled and not made again.
	w.Temporal, w.Client = connection, client
	w.Reset(t.Name(), "", 1)
	world.Eventually(t, "the agent ends once more", ended)
	require.EqualValues(t, 1, paid.Load())
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
