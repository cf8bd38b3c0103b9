package reagenttest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
	"github.com/reagent-dev/reagent/tool"
)

// traced returns options of agents whose spans come into the exporter. The model calls the tool "order", or the sub-agent "buyer" if the
// message says so, and then answers.
func traced(options ...sdktrace.TracerProviderOption) (reagent.Options, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	model := reagenttest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == llm.Tool:
			return said("done"), nil
		case last.Content == "delegate":
			return call("buyer", `{"task":"order"}`), nil
		default:
			return call("order", `{"name":"plum"}`), nil
		}
	})
	order := reagent.Func("order", "Orders.", tool.AtMostOnce, func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "ordered " + in.Name, nil
	})
	return reagent.Options{
		Models: reagenttest.Models(model), Tools: []reagent.Tool{order},
		Agents:         []reagent.Agent{{Name: "shop", Tools: []string{"order"}, Agents: []string{"buyer"}}, {Name: "buyer", Tools: []string{"order"}}},
		TracerProvider: sdktrace.NewTracerProvider(append(options, sdktrace.WithSyncer(spans))...),
	}, spans
}

func said(text string) llm.Reply {
	return llm.Reply{Message: llm.Message{Role: llm.Assistant, Content: text}, FinishReason: "stop", Usage: llm.Usage{InputTokens: 10, OutputTokens: 2}}
}

// names returns the names of the spans with the given parent.
func names(spans tracetest.SpanStubs, parent trace.SpanID) (all []string) {
	for _, s := range spans {
		if s.Parent.SpanID() == parent {
			all = append(all, s.Name)
		}
	}
	return all
}

func named(t *testing.T, spans tracetest.SpanStubs, name string) (found []tracetest.SpanStub) {
	t.Helper()
	for _, s := range spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	require.NotEmpty(t, found, name)
	return found
}

// Everything that a message causes lies in a trace of its own, below the span of its turn.
func TestTraceBelongsToTheMessage(t *testing.T) {
	options, exporter := traced(sdktrace.WithIDGenerator(reagent.SpanIDs{}))
	shop := reagenttest.New(t, options).Chat("shop", "delegate")
	shop.Settle().Send("order").Settle()
	spans := exporter.GetSpans()
	turns := named(t, spans, "invoke_agent shop")
	require.Len(t, turns, 2)
	buyer := named(t, spans, "invoke_agent buyer")
	require.Len(t, buyer, 1)
	require.NotEqual(t, turns[0].SpanContext.TraceID(), turns[1].SpanContext.TraceID())
	require.ElementsMatch(t, []string{"chat scripted", "chat scripted", "invoke_agent buyer"}, names(spans, turns[0].SpanContext.SpanID()))
	require.ElementsMatch(t, []string{"chat scripted", "chat scripted", "execute_tool order"}, names(spans, buyer[0].SpanContext.SpanID()))
	require.ElementsMatch(t, []string{"chat scripted", "chat scripted", "execute_tool order"}, names(spans, turns[1].SpanContext.SpanID()))
	ids := map[trace.SpanID]bool{}
	for _, s := range spans {
		require.False(t, ids[s.SpanContext.SpanID()], "%s is there twice", s.Name)
		ids[s.SpanContext.SpanID()] = true
	}
	for _, s := range spans {
		require.True(t, !s.Parent.SpanID().IsValid() || ids[s.Parent.SpanID()], "%s has a parent that nobody knows", s.Name)
	}
	tokens := int64(0)
	for _, s := range named(t, spans, "chat scripted") {
		for _, a := range s.Attributes {
			if a.Key == "gen_ai.usage.input_tokens" {
				tokens += a.Value.AsInt64()
			}
		}
	}
	require.EqualValues(t, 30, tokens) // three answers of 10
}

// With the IDs of another generator, the spans of a message still share a trace.
func TestTraceHoldsWithoutOurIDs(t *testing.T) {
	options, exporter := traced()
	reagenttest.New(t, options).Chat("shop", "delegate").Settle()
	spans := exporter.GetSpans()
	require.Len(t, spans, 7)
	for _, s := range spans {
		require.Equal(t, spans[0].SpanContext.TraceID(), s.SpanContext.TraceID(), s.Name)
	}
}

// Spans have what people, models and tools say only if they are asked for it.
func TestSpansHaveNoContentUnlessAsked(t *testing.T) {
	for _, content := range []bool{false, true} {
		options, exporter := traced()
		options.TraceContent = content
		reagenttest.New(t, options).Run("shop", "please order a plum").Settle()
		found := map[attribute.Key]string{}
		for _, s := range exporter.GetSpans() {
			for _, a := range s.Attributes {
				found[a.Key] += a.Value.String()
			}
		}
		for key, word := range map[attribute.Key]string{
			"gen_ai.input.messages": "please order a plum", "gen_ai.output.messages": "plum", "gen_ai.tool.call.arguments": "plum", "gen_ai.tool.call.result": "ordered plum",
		} {
			if content {
				require.Contains(t, found[key], word, key)
			} else {
				require.NotContains(t, found, key)
			}
		}
	}
}

// Neither a crash nor a reset makes a span twice. What a run recalls is marked, and has taken no time.
func TestNoSpanIsMadeTwice(t *testing.T) {
	options, exporter := traced(sdktrace.WithIDGenerator(reagent.SpanIDs{}))
	agents := reagenttest.OnServer(t, options)
	agents.Crash(reagenttest.DuringModel("main"))
	shop := agents.Chat("shop", "delegate")
	shop.Settle().Send("order").Settle()
	before := exporter.GetSpans()
	shop.Reset(1).Settle()
	spans := exporter.GetSpans()
	ids, turns := map[trace.SpanID]bool{}, 0
	for i, s := range spans {
		require.False(t, ids[s.SpanContext.SpanID()], "%s is there twice", s.Name)
		ids[s.SpanContext.SpanID()] = true
		again := i >= len(before)
		switch {
		case s.Name == "invoke_agent shop":
			turns++
		case s.Name == "invoke_agent buyer":
			require.False(t, again, "the sub-agent was found, and did nothing again")
		case again:
			require.Contains(t, s.Attributes, attribute.Bool("reagent.recalled", true), s.Name)
			require.Equal(t, s.StartTime, s.EndTime, s.Name)
		}
	}
	require.Equal(t, 4, turns) // both turns, and both again after the reset
	require.Len(t, named(t, spans, "invoke_agent buyer"), 1)
	for _, s := range spans {
		require.True(t, !s.Parent.SpanID().IsValid() || ids[s.Parent.SpanID()], "%s has a parent that nobody knows", s.Name)
	}
}
