package calls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Ask returns an agent's answer as a value of the caller's type. If an answer does not fit the type's JSON schema, the
// model is asked once more. If the next answer does not fit either, Ask returns an InvalidOutputError.
func TestAnswerHasTheCallersType(t *testing.T) {
	type invoice struct {
		Number int    `json:"number"`
		Due    string `json:"due"`
	}
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		require.Contains(t, string(req.Params.OutputSchema), `"number"`)
		switch {
		case req.Messages[0].Content == "never":
			return llmtest.Say("It is due soon."), nil
		case world.Asked(req) == 0:
			return llmtest.Say(`{"number": "seven"}`), nil
		}
		return llmtest.Say(`{"number": 7, "due": "tomorrow"}`), nil
	}, nil, "")
	w.Worker()
	got, err := reagent.Execute[invoice](t.Context(), w.Client, reagent.StartOptions{ID: t.Name(), Agent: "x", Message: "which is due?"})
	require.NoError(t, err)
	require.Equal(t, invoice{7, "tomorrow"}, got)
	require.Len(t, w.Show(t.Name()).Messages, 4)
	require.Contains(t, w.Show(t.Name()).Messages[2].Content, "does not fit the JSON schema")

	_, err = reagent.Execute[invoice](t.Context(), w.Client, reagent.StartOptions{ID: t.Name() + "-never", Agent: "x", Message: "never"})
	var invalid *reagent.InvalidOutputError
	require.ErrorAs(t, err, &invalid)
	require.Contains(t, invalid.Problem, "not valid JSON")

	schema := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(schema, []byte(`{"type":"object","properties":{"number":{"type":"integer"}},"required":["number","due"]}`), 0o600))
	out := w.Must("run", "--id", t.Name()+"-cli", "--output-schema", schema, "which is due?")
	require.Contains(t, out, `{"number": 7, "due": "tomorrow"}`)
}

// A user's image reaches the model as a part of the message. The user gives a file or an address.
func TestImageReachesTheModel(t *testing.T) {
	w := world.New(t, world.Script(llmtest.Say("a dot"), llmtest.Say("another")), nil, "")
	w.Worker()
	picture := filepath.Join(t.TempDir(), "dot.png")
	require.NoError(t, os.WriteFile(picture, []byte("\x89PNG\r\n\x1a\n0000"), 0o600))
	w.Must("run", "--chat", "--id", t.Name(), "--image", picture, "what is it?")
	w.Must("send", t.Name(), "--image", "https://example.com/b.png", "and this?")
	requests := w.Model.Requests()
	last := requests[len(requests)-1].Request.Messages
	require.Equal(t, []llm.Part{{Type: "text", Text: "what is it?"}, {Type: "image", URL: "data:image/png;base64,iVBORw0KGgowMDAw"}}, last[0].Parts)
	require.Equal(t, "https://example.com/b.png", last[2].Parts[1].URL)
	_, errs, code := w.Starter("send", t.Name(), "--image", w.Config, "and this?")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "is not an image")
}

// If a model cannot answer, its fallback model gets the request, with the same key. The cost is computed with the price
// of the model that answered.
func TestNextModelAnswersWhereOneCannot(t *testing.T) {
	gone := llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.NotFound, Message: "no such model"}
	})
	refused := llmtest.Serve(gone)
	t.Cleanup(refused.Close)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		reply := llmtest.Say("here I am")
		reply.Usage = llm.Usage{InputTokens: 1_000_000}
		return reply, nil
	}, nil, "")
	w.WriteConfig(fmt.Sprintf(`task_queue: %s
models:
  gone: {model: gone, base_url: %q, price: {input: 100}}
  main: {model: scripted, base_url: %q, price: {input: 0.15}}
agents:
  x: {model: gone, fallback: [main]}
`, w.Queue, refused.URL, w.Model.URL))
	w.Worker()
	w.Must("run", "--id", t.Name(), "hello")
	require.Equal(t, "here I am", w.Show(t.Name()).Answer)
	require.Len(t, gone.Requests(), 1)
	require.Len(t, w.Model.Requests(), 1)
	require.Equal(t, gone.Requests()[0].Key, w.Model.Requests()[0].Key)
	var cost struct {
		Usage struct {
			CostUSD float64 `json:"cost_usd"`
		} `json:"usage"`
	}
	require.NoError(t, json.Unmarshal([]byte(w.Must("show", "--json", t.Name())), &cost))
	require.InDelta(t, 0.15, cost.Usage.CostUSD, 1e-9)
	require.Contains(t, w.Must("show", t.Name()), "$0.1500")
}

// If a tool result is long, the transcript has only a part of it. The model reads the rest from history with
// read_result.
func TestLongResultIsReadInPages(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(context.Context, world.Effect) (string, error) {
		return strings.Repeat("a", 90_000) + "the needle" + strings.Repeat("b", 90_000), nil
	})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1].Content
		switch world.Asked(req) {
		case 0:
			return llmtest.Call(llmtest.ToolCall("1", "read", `{}`)), nil
		case 1:
			_, note, _ := strings.Cut(last, "bytes left out; read_result with ")
			arguments, _, _ := strings.Cut(note, " shows them]")
			var at struct {
				Handle string `json:"handle"`
			}
			if err := json.Unmarshal([]byte(arguments), &at); err != nil {
				return llm.Reply{}, err
			}
			return llmtest.Call(llmtest.ToolCall("1", "read_result", fmt.Sprintf(`{"handle":%q,"offset":89990,"length":30}`, at.Handle))), nil
		}
		return llmtest.Say(last), nil
	}, tools, "    tools: [far.*, read_result]\n")
	w.Worker()
	w.Must("run", "--id", t.Name(), "find it")
	require.Equal(t, "bytes 89990 to 90020 of 180010:\naaaaaaaaaathe needlebbbbbbbbbb", w.Show(t.Name()).Answer)
	require.Less(t, len(w.Show(t.Name()).Messages[2].Content), 70_000)
	w.NothingTwice()
}

// The limit requests_per_minute of a model holds for all workers together.
func TestRequestsPerMinuteHoldOverAllWorkers(t *testing.T) {
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if n := world.Asked(req); n < 8 {
			return llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"1+1"}`)), nil
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q, rate: {requests_per_minute: 120}}\nagents:\n  x: {model: main, tools: [calculator]}\n",
		w.Queue, w.Model.URL))
	w.Worker()
	w.Worker()
	began := time.Now()
	for i := range 2 {
		w.Must("run", "--detach", "--id", fmt.Sprint(t.Name(), i), "count")
	}
	for i := range 2 {
		w.Finished(fmt.Sprint(t.Name(), i), "done")
	}
	took, requests := time.Since(began), len(w.Model.Requests())
	t.Logf("%d requests in %v at 120 a minute", requests, took.Round(100*time.Millisecond))
	require.Equal(t, 18, requests)
	require.Greater(t, took, 5*time.Second, "without the limit this takes less than a second")
}
