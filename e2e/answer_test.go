package e2e_test

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

	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// An answer that was asked for in a form comes back in the caller's type; one that does not fit is
// asked for once more, and then is an error with a type.
func TestAnswerHasTheCallersType(t *testing.T) {
	type invoice struct {
		Number int    `json:"number"`
		Due    string `json:"due"`
	}
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		require.Contains(t, string(req.Params.OutputSchema), `"number"`)
		switch {
		case req.Messages[0].Content == "never":
			return llmtest.Say("It is due soon."), nil
		case asked(req) == 0:
			return llmtest.Say(`{"number": "seven"}`), nil
		}
		return llmtest.Say(`{"number": 7, "due": "tomorrow"}`), nil
	}, nil, "")
	w.worker()
	got, err := reagent.Ask[invoice](t.Context(), w.client, reagent.StartOptions{ID: t.Name(), Agent: "x", Message: "which is due?"})
	require.NoError(t, err)
	require.Equal(t, invoice{7, "tomorrow"}, got)
	require.Len(t, w.show(t.Name()).Messages, 4)
	require.Contains(t, w.show(t.Name()).Messages[2].Content, "does not fit the JSON schema")

	_, err = reagent.Ask[invoice](t.Context(), w.client, reagent.StartOptions{ID: t.Name() + "-never", Agent: "x", Message: "never"})
	var invalid *reagent.InvalidOutputError
	require.ErrorAs(t, err, &invalid)
	require.Contains(t, invalid.Problem, "not valid JSON")

	schema := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(schema, []byte(`{"type":"object","properties":{"number":{"type":"integer"}},"required":["number","due"]}`), 0o600))
	out := w.must("run", "--id", t.Name()+"-cli", "--output-schema", schema, "which is due?")
	require.Contains(t, out, `{"number": 7, "due": "tomorrow"}`)
}

// An image reaches the model as a part of the message, from a file or an address.
func TestImageReachesTheModel(t *testing.T) {
	w := newWorld(t, script(llmtest.Say("a dot"), llmtest.Say("another")), nil, "")
	w.worker()
	picture := filepath.Join(t.TempDir(), "dot.png")
	require.NoError(t, os.WriteFile(picture, []byte("\x89PNG\r\n\x1a\n0000"), 0o600))
	w.must("run", "--chat", "--id", t.Name(), "--image", picture, "what is it?")
	w.must("send", t.Name(), "--image", "https://example.com/b.png", "and this?")
	requests := w.model.Requests()
	last := requests[len(requests)-1].Request.Messages
	require.Equal(t, []llm.Part{{Type: "text", Text: "what is it?"}, {Type: "image", URL: "data:image/png;base64,iVBORw0KGgowMDAw"}}, last[0].Parts)
	require.Equal(t, "https://example.com/b.png", last[2].Parts[1].URL)
	_, errs, code := w.starter("send", t.Name(), "--image", w.config, "and this?")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "is not an image")
}

// Where a model cannot answer the next one does, under the same key; what that costs is its price.
func TestNextModelAnswersWhereOneCannot(t *testing.T) {
	refused := llmtest.Serve(llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.NotFound, Message: "no such model"}
	}))
	t.Cleanup(refused.Close)
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		reply := llmtest.Say("here I am")
		reply.Usage = llm.Usage{InputTokens: 1_000_000}
		return reply, nil
	}, nil, "")
	w.write(fmt.Sprintf(`task_queue: %s
models:
  gone: {model: gone, base_url: %q, price: {input: 100}}
  main: {model: scripted, base_url: %q, price: {input: 0.15}}
agents:
  x: {model: gone, fallback: [main]}
`, w.queue, refused.URL, w.model.URL))
	w.worker()
	w.must("run", "--id", t.Name(), "hello")
	require.Equal(t, "here I am", w.show(t.Name()).Result)
	require.Len(t, refused.Requests(), 1)
	require.Len(t, w.model.Requests(), 1)
	require.Equal(t, refused.Requests()[0].Key, w.model.Requests()[0].Key)
	var cost struct {
		Usage struct {
			CostUSD float64 `json:"cost_usd"`
		} `json:"usage"`
	}
	require.NoError(t, json.Unmarshal([]byte(w.must("show", "--json", t.Name())), &cost))
	require.InDelta(t, 0.15, cost.Usage.CostUSD, 1e-9)
	require.Contains(t, w.must("show", t.Name()), "$0.1500")
}

// A budget holds over the tree: a sub-agent gets a slice of it, and what it spent counts.
func TestBudgetHoldsOverTheTree(t *testing.T) {
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		reply := llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"1+1"}`)) // on and on
		if req.Messages[0].Content != "You count." {
			reply = llmtest.Call(llmtest.ToolCall("1", "clerk", fmt.Sprintf(`{"task":"count %d"}`, asked(req))))
		}
		reply.Usage = llm.Usage{InputTokens: 100}
		return reply, nil
	}, nil, "    agents: [clerk]\n    limits: {tokens: 2000}\n  clerk:\n    model: main\n    instructions: You count.\n    tools: [calculator]\n")
	w.worker()
	_, errs, code := w.starter("run", "-a", "x", "--id", t.Name(), "ask the clerk")
	require.Equal(t, 6, code, errs)
	s := w.show(t.Name())
	require.Contains(t, s.Result, "this agent reached its limit of 2000 tokens (limits.tokens)")
	require.Greater(t, len(s.Children), 1)
	var tree struct {
		Usage struct {
			Tree struct {
				InputTokens int `json:"input_tokens"`
			} `json:"tree"`
		} `json:"usage"`
	}
	require.NoError(t, json.Unmarshal([]byte(w.must("show", "--json", t.Name())), &tree))
	require.Equal(t, 100*len(w.model.Requests()), tree.Usage.Tree.InputTokens, "what the tree spent is what the model was asked")
	require.LessOrEqual(t, tree.Usage.Tree.InputTokens, 2200)
	require.GreaterOrEqual(t, tree.Usage.Tree.InputTokens, 1900)
}

// What a transcript leaves out of a long result is read from history.
func TestLongResultIsReadInPages(t *testing.T) {
	tools := newToolServer(t)
	tools.add("read", readOnly, func(context.Context, effect) (string, error) {
		return strings.Repeat("a", 90_000) + "the needle" + strings.Repeat("b", 90_000), nil
	})
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1].Content
		switch asked(req) {
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
	w.worker()
	w.must("run", "--id", t.Name(), "find it")
	require.Equal(t, "bytes 89990 to 90020 of 180010:\naaaaaaaaaathe needlebbbbbbbbbb", w.show(t.Name()).Result)
	require.Less(t, len(w.show(t.Name()).Messages[2].Content), 70_000)
	w.once()
}

// A model whose requests are limited is not asked more often, whatever the number of workers.
func TestRequestsPerMinuteHoldOverAllWorkers(t *testing.T) {
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if n := asked(req); n < 8 {
			return llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"1+1"}`)), nil
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	w.write(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q, rate: {requests_per_minute: 120}}\nagents:\n  x: {model: main, tools: [calculator]}\n",
		w.queue, w.model.URL))
	w.worker()
	w.worker()
	began := time.Now()
	for i := range 2 {
		w.must("run", "--detach", "--id", fmt.Sprint(t.Name(), i), "count")
	}
	for i := range 2 {
		w.finished(fmt.Sprint(t.Name(), i), "done")
	}
	took, requests := time.Since(began), len(w.model.Requests())
	t.Logf("%d requests in %v at 120 a minute", requests, took.Round(100*time.Millisecond))
	require.Equal(t, 18, requests)
	require.Greater(t, took, 5*time.Second, "without the limit this takes less than a second")
}
