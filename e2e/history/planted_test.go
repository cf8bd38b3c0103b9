package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/testkit/planted"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// With a codec, nothing that people, models, tools or guardrails have said is in any file of Temporal's database, in any form, whatever happened
// to the agents. It is in no log entry from the level info on. Without content in the Web UI, it is not in its texts either, also where the
// codec decodes them. The same life without both finds every word by the same search, and the texts of the Web UI have content again.
func TestDatabaseHasNothingThatWasSaid(t *testing.T) {
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "") // of a run of all tests with a codec server
	t.Setenv("TEMPORAL_CODEC_AUTH", "")
	for _, hidden := range []bool{true, false} {
		l := live(t, hidden)
		words := l.words()
		found, err := planted.In(l.folder, words)
		require.NoError(t, err)
		shown := planted.Text(strings.Join(l.shown, "\n"), words)
		if !hidden {
			for _, word := range words {
				require.NotEmpty(t, found[word], word)
			}
			require.Greater(t, len(shown), len(words)/2, "the Web UI shows most of it")
			require.Contains(t, l.log.String(), plum("complaint"), "the SDK logs the text of an error")
			continue
		}
		require.Empty(t, found)
		for word := range shown {
			require.Contains(t, word, "metadata", "memos have only the metadata by which programs find agents")
		}
		require.NotContains(t, l.log.String(), "plum")
		require.Contains(t, l.log.String(), `"agent":"chat"`)
	}
}

func plum(what string) string { return "plum-of-the-" + what }

// life is what agents of all kinds have gone through, and what it left behind.
type life struct {
	*world.World
	folder string
	log    bytes.Buffer
	shown  []string
	dc     converter.DataConverter

	interrupted chan struct{} // closed when the interrupted tool has ended

	mu   sync.Mutex
	said map[string]bool
}

// say returns a text with a planted word.
func (l *life) say(what string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said[plum(what)] = true
	return strings.Repeat(plum(what)+" ", 3)
}

// object returns a JSON object with a planted word.
func (l *life) object(field, what string) string {
	text, err := json.Marshal(map[string]string{field: l.say(what)})
	require.NoError(l.T, err)
	return string(text)
}

func (l *life) words() (all []string) {
	for word := range l.said {
		all = append(all, word)
	}
	slices.Sort(all)
	return all
}

// complete is the model.
func (l *life) complete(_ context.Context, req llm.Request) (llm.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	has := func(what string) bool {
		return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return strings.Contains(m.Content, plum(what)) })
	}
	if strings.HasPrefix(last.Content, "The conversation grows too long") {
		return llmtest.Say(l.say("summary")), nil
	}
	asked := func(what string) bool { return last.Role == llm.User && strings.Contains(last.Content, plum(what)) }
	switch {
	case asked("task"):
		reply := llmtest.Call(
			llmtest.ToolCall("1", "pay", l.object("note", "arguments")), llmtest.ToolCall("2", "look", l.object("note", "look")),
			llmtest.ToolCall("3", "fail", l.object("note", "try")), llmtest.ToolCall("4", "ask_user", l.object("question", "question")),
			llmtest.ToolCall("5", "clerk", l.object("task", "errand")),
		)
		reply.Message.Content = l.say("thought")
		return reply, nil
	case last.Role == llm.Tool && has("report") && !has("steering"):
		return llmtest.Call(llmtest.ToolCall("6", "pay", l.object("note", "second"))), nil
	case asked("steering"):
		return llmtest.Say(l.say("answer")), nil
	case asked("errand"):
		return llmtest.Say(l.say("report")), nil
	case asked("aside"):
		return llmtest.Say(l.say("aside-answer")), nil
	case asked("wait"):
		return llmtest.Call(llmtest.ToolCall("7", "slow", l.object("note", "slowness"))), nil
	case asked("long") && !has("summary"):
		return llm.Reply{}, &llm.Error{Class: llm.ContextTooLong, Message: l.say("too-long")}
	case asked("bad"):
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: l.say("complaint")}
	}
	return llmtest.Say("well"), nil
}

type note struct {
	Note string `json:"note"`
}

func (l *life) tools() []reagent.Tool {
	return []reagent.Tool{
		reagent.Func("pay", "pays", tool.AtMostOnce, func(context.Context, note) (string, error) { return l.say("result"), nil }),
		reagent.Func("look", "looks", tool.ReadOnly, func(context.Context, note) (string, error) { return l.say("found"), nil }),
		reagent.Func("fail", "fails", tool.ReadOnly, func(context.Context, note) (string, error) { return "", errors.New(l.say("error")) }),
		reagent.Func("slow", "waits", tool.ReadOnly, func(ctx context.Context, _ note) (string, error) {
			tool.Progress(ctx, l.say("progress"))
			<-ctx.Done()
			close(l.interrupted)
			return "", ctx.Err()
		}),
		reagent.Guardrail("tone", "judges", func(_ context.Context, text tool.JudgedText) (tool.Verdict, error) {
			switch {
			case strings.Contains(text.Text, plum("rude")):
				return tool.Refuse(l.say("refusal")), nil
			case strings.Contains(text.Text, plum("secret")):
				return tool.Change(l.say("change")), nil
			case strings.Contains(text.Text, plum("doubt")):
				return tool.Ask(l.say("reason")), nil
			}
			return tool.Allow(), nil
		}),
	}
}

// live lets agents live on a server of their own: they call, fail, wait for people, are steered, interrupted, summarised, rolled, terminated,
// resumed, forked, reset, scheduled and called by a workflow. With `hidden`, there are a codec and no content in the Web UI.
func live(t *testing.T, hidden bool) *life {
	l := &life{World: world.New(t, world.Script(), nil, ""), folder: t.TempDir(), said: map[string]bool{}, dc: converter.GetDefaultDataConverter(), interrupted: make(chan struct{})}
	own, err := devserver.Start(t.Context(), devserver.Options{DBFilename: filepath.Join(l.folder, "dev.db"), SearchAttributes: protocol.AttributeTypes()})
	require.NoError(t, err)
	defer own.Stop()
	handler := slog.Handler(slog.NewJSONHandler(&locked{to: &l.log}, &slog.HandlerOptions{Level: slog.LevelInfo}))
	if hidden {
		handler = reagent.LogHandler(handler)
	}
	log := slog.New(handler)
	options := sdk.Options{HostPort: own.Address(), Logger: sdklog.NewStructuredLogger(log)}
	if hidden {
		codec, err := reagent.NewEncryptionCodec(reagent.EncryptionOptions{Keys: map[string][]byte{"k1": bytes.Repeat([]byte{7}, 32)}, KeyID: "k1"})
		require.NoError(t, err)
		plugin := reagent.NewClientPlugin(codec)
		options.Plugins, l.dc = []sdk.Plugin{plugin}, plugin.Converter()
	}
	l.Temporal, err = sdk.Dial(options)
	require.NoError(t, err)
	defer l.Temporal.Close()
	l.Client = client.New(l.Temporal, l.Queue).WithConverter(l.dc)
	if hidden {
		l.Client = l.Client.WithoutUIContent()
	}
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer hook.Close()
	agents, err := reagent.New(t.Context(), l.Temporal, reagent.Options{
		TaskQueue: l.Queue, Models: map[string]reagent.Model{"main": {Name: "scripted", Client: llmtest.Func(l.complete)}}, Tools: l.tools(),
		Notify: []reagent.Hook{{Name: "pager", URL: hook.URL}}, NoUIContent: hidden, Logger: log,
		Agents: []reagent.Agent{
			{
				Name: "x", Model: "main", Instructions: l.say("instructions"), Tools: []string{"pay", "look", "fail", "slow", "ask_user"}, Agents: []string{"clerk"},
				Approval: reagent.ApprovalPolicy{"pay": reagent.ApprovalAlways},
			},
			{Name: "clerk", Model: "main"}, {Name: "guarded", Model: "main", Guardrails: reagent.Guardrails{Messages: []string{"tone"}}},
		},
	})
	require.NoError(t, err)
	here := worker.New(l.Temporal, l.Queue, worker.Options{Plugins: []worker.Plugin{agents}})
	here.RegisterWorkflowWithOptions(func(ctx workflow.Context, task string) (string, error) {
		result, err := reagent.Run(ctx, reagent.Task{ID: "called", Agent: "clerk", Message: task, NoUIContent: hidden})
		return result.Answer, err
	}, workflow.RegisterOptions{Name: "caller"})
	require.NoError(t, here.Start())
	defer here.Stop()
	l.liveAll(t)
	return l
}

func (l *life) liveAll(t *testing.T) {
	ctx := t.Context()
	do := func(_ any, err error) { t.Helper(); require.NoError(t, err) }
	waits := func(id, call string) {
		t.Helper()
		l.Eventually(call+" waits", func() bool {
			waiting, err := l.Client.Pending(ctx, id)
			return err == nil && slices.ContainsFunc(waiting, func(w client.Waits) bool { return w.Call.Name == call })
		})
		l.look(id)
	}
	handle := func(id, call string) string {
		waiting, err := l.Client.Pending(ctx, id)
		require.NoError(t, err)
		i := slices.IndexFunc(waiting, func(w client.Waits) bool { return w.Call.Name == call })
		return waiting[i].Handle()
	}
	answered := func(id string, send client.Message, end client.Status) {
		t.Helper()
		sent, err := l.Client.Send(ctx, id, send)
		require.NoError(t, err)
		got, err := l.Client.Reply(ctx, id, sent.MessageID, 0, nil)
		require.NoError(t, err)
		require.Equal(t, end, got.Status, "%v", got)
		l.look(id)
	}

	do(l.Client.Start(ctx, client.StartOptions{
		ID: "chat", Agent: "x", Mode: "chat", Message: l.say("task"), Metadata: map[string]string{"customer": l.say("metadata")},
		MessageMetadata: map[string]string{"user": l.say("message-metadata")},
	}))
	waits("chat", "pay")
	waits("chat", "ask_user")
	do(l.Client.Approve(ctx, "chat", handle("chat", "pay"), client.DecideOptions{Arguments: l.object("note", "edit"), By: "kim"}))
	do(l.Client.Complete(ctx, "chat", handle("chat", "ask_user"), l.say("given"), client.CompleteOptions{}))
	waits("chat", "pay")
	steering, err := l.Client.Send(ctx, "chat", client.Message{Text: l.say("steering"), Steer: true})
	require.NoError(t, err)
	do(l.Client.Deny(ctx, "chat", handle("chat", "pay"), client.DecideOptions{Reason: l.say("denial")}))
	do(l.Client.Reply(ctx, "chat", steering.MessageID, 0, nil))
	do(l.Client.Aside(ctx, "chat", l.say("aside")))

	do(l.Client.Send(ctx, "chat", client.Message{Text: l.say("wait"), PartialText: true}))
	for seen, err := range l.Client.Watch(ctx, "chat", 0) {
		require.NoError(t, err)
		if len(seen.ToolOutputs) > 0 {
			break // a heartbeat has it
		}
	}
	do(nil, l.Client.Interrupt(ctx, "chat"))
	answered("chat", client.Message{Text: l.say("interruption")}, client.Waiting)
	answered("chat", client.Message{Text: l.say("long")}, client.Waiting)
	l.Roll("chat")
	select {
	case <-l.interrupted: // also if the run ends before the worker has learnt of the interrupt
	case <-time.After(world.Patience):
		require.Fail(t, "the tool was not stopped")
	}
	answered("chat", client.Message{Text: l.say("next")}, client.Waiting)
	answered("chat", client.Message{Text: l.say("bad")}, client.Held)
	l.TerminateAgent("chat")
	do(l.Client.Resume(ctx, "chat", client.ResumeOptions{Message: l.say("resumption")}))
	answered("chat", client.Message{Text: l.say("later")}, client.Waiting)
	do(l.Client.Fork(ctx, "chat", client.ForkOptions{ID: "fork", Message: l.say("fork")}))
	answered("fork", client.Message{Text: l.say("other")}, client.Waiting)
	l.Reset("fork", "", 1)
	answered("fork", client.Message{Text: l.say("reset")}, client.Waiting)

	do(l.Client.Start(ctx, client.StartOptions{ID: "guarded", Agent: "guarded", Mode: "chat", Message: l.say("secret")}))
	answered("guarded", client.Message{Text: l.say("rude")}, client.Waiting)
	do(l.Client.Send(ctx, "guarded", client.Message{Text: l.say("doubt")}))
	waits("guarded", "tone")
	do(l.Client.Approve(ctx, "guarded", "", client.DecideOptions{}))
	answered("guarded", client.Message{Text: l.say("polite")}, client.Waiting)

	do(l.Client.Start(ctx, client.StartOptions{ID: "failed", Agent: "x", Message: l.say("bad")}))
	l.Eventually("it fails", func() bool {
		got, err := l.Client.Describe(ctx, "failed")
		return err == nil && got.Status == client.Failed
	})
	l.look("failed")

	run, err := l.Temporal.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{ID: "caller", TaskQueue: l.Queue}, "caller", l.say("workflow"))
	require.NoError(t, err)
	require.NoError(t, run.Get(ctx, nil))
	l.look("called")

	action, err := l.Client.ScheduleAction(client.StartOptions{ID: "daily", Agent: "clerk", Message: l.say("schedule")})
	require.NoError(t, err)
	do(l.Temporal.ScheduleClient().Create(ctx, sdk.ScheduleOptions{ID: "daily", Action: action, Paused: true}))
}

// look keeps the texts that the Web UI shows of an agent and its sub-agents: the memo, the summaries, the details.
func (l *life) look(id string) {
	tree, err := l.Client.Tree(l.T.Context(), id)
	require.NoError(l.T, err)
	for _, entry := range tree {
		l.lookAt(entry.ID, entry.RunID)
	}
}

func (l *life) lookAt(id, run string) {
	ctx := l.T.Context()
	found, err := l.Temporal.DescribeWorkflowExecution(ctx, id, run)
	require.NoError(l.T, err)
	l.text(found.GetExecutionConfig().GetUserMetadata())
	for _, p := range found.GetWorkflowExecutionInfo().GetMemo().GetFields() {
		l.payload(p)
	}
	events := l.Temporal.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(l.T, err)
		l.text(event.GetUserMetadata())
	}
	value, err := l.Temporal.QueryWorkflow(ctx, id, run, "__temporal_workflow_metadata")
	require.NoError(l.T, err)
	var about sdkpb.WorkflowMetadata
	require.NoError(l.T, value.Get(&about))
	l.shown = append(l.shown, about.GetCurrentDetails())
}

func (l *life) text(m *sdkpb.UserMetadata) {
	l.payload(m.GetSummary())
	l.payload(m.GetDetails())
}

func (l *life) payload(p *commonpb.Payload) {
	if p == nil {
		return
	}
	var value any
	require.NoError(l.T, l.dc.FromPayload(p, &value))
	l.shown = append(l.shown, fmt.Sprint(value))
}

// locked is a writer for a log that several goroutines write.
type locked struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (w *locked) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(line)
}
