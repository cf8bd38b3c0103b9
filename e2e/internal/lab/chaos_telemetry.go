package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/reagent-dev/reagent/e2e/internal/collector"
)

// lossTime is the time after a reply in which the death of a worker may lose the span and the tokens of the reply. The worker sends both several
// times a second, but the machine may be busy.
const lossTime = 10 * time.Second

// listen starts a collector and returns the environment of workers that send their spans and metrics there. It does so only if the environment
// variable REAGENT_CHAOS_TELEMETRY is set.
func (c *chaos) listen() []string {
	if os.Getenv("REAGENT_CHAOS_TELEMETRY") == "" {
		return nil
	}
	c.collector = collector.New(c.T)
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.collector.URL, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_METRIC_EXPORT_INTERVAL=200"}
}

// judgeTelemetry compares what the workers have sent with what the model has answered. No span comes twice. Each reply has one span, with its
// tokens, and the counters have the tokens of all replies. Only what a worker had not sent when it died may be missing.
func (c *chaos) judgeTelemetry(v *Verdict) {
	if c.collector == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lossTime)
	defer cancel()
	var told, problems []string
	_ = until(ctx, "the last spans and metrics have come", func(context.Context) (bool, error) {
		told, problems = c.compareTelemetry()
		return len(problems) == 0, nil
	})
	c.T.Log(strings.Join(told, "; "))
	v.Problems = append(v.Problems, problems...)
}

func (c *chaos) compareTelemetry() (told, problems []string) {
	problemf := func(format string, args ...any) {
		problems = append(problems, "telemetry: "+fmt.Sprintf(format, args...))
	}
	all, twice := c.collector.Spans()
	if twice > 0 {
		problemf("%d spans came twice", twice)
	}
	spans := map[string][]*trace.Span{}
	for _, s := range all {
		if strings.HasPrefix(s.GetName(), "chat ") && !isRecalled(s) {
			key := collector.Text(s.GetAttributes(), "reagent.key")
			spans[key] = append(spans[key], s)
		}
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	var input, output, mayMissIn, mayMissOut int
	for _, key := range slices.Sorted(maps.Keys(c.ledger.answers)) {
		answers := c.ledger.answers[key]
		mayMiss := 0
		for _, a := range answers {
			input += a.usage.InputTokens
			output += a.usage.OutputTokens
			if c.ledger.diedAfter(a) {
				mayMiss++
				mayMissIn += a.usage.InputTokens
				mayMissOut += a.usage.OutputTokens
			}
		}
		good := 0
		for _, s := range spans[key] {
			if s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR {
				continue // the worker has not taken the reply, for example after an interrupt
			}
			good++
			in, out := collector.Int(s.GetAttributes(), "gen_ai.usage.input_tokens"), collector.Int(s.GetAttributes(), "gen_ai.usage.output_tokens")
			if u := answers[0].usage; in != u.InputTokens || out != u.OutputTokens {
				problemf("the span of %s has %d and %d tokens, and the reply has %d and %d", key, in, out, u.InputTokens, u.OutputTokens)
			}
		}
		if good > len(answers) {
			problemf("%s has %d spans with a reply, and the model has given %d", key, good, len(answers))
		}
		if missing := len(answers) - len(spans[key]); missing > mayMiss {
			problemf("%s has %d spans, and the model has given %d replies; %d of them may be missing", key, len(spans[key]), len(answers), mayMiss)
		}
		if refused := min(len(spans[key])-good, len(answers)-good); refused > 0 { // answered when the worker no longer waited
			mayMissIn += refused * answers[0].usage.InputTokens
			mayMissOut += refused * answers[0].usage.OutputTokens
		}
	}
	for key, of := range spans {
		if len(c.ledger.requests[key]) == 0 {
			problemf("%s has %d spans, and the model was not asked", key, len(of))
		}
	}
	for _, n := range []struct {
		kind        string
		is, mayMiss int
	}{{"input", input, mayMissIn}, {"output", output, mayMissOut}} {
		counted := int(c.collector.Counted("gen_ai.client.inference.tokens", "gen_ai.token.type", n.kind))
		told = append(told, fmt.Sprintf("the counters have %d of %d %s tokens, and %d may be missing", counted, n.is, n.kind, n.mayMiss))
		if counted > n.is || counted < n.is-n.mayMiss {
			problemf("the counters have %d %s tokens, and the model has given %d, of which %d may be missing", counted, n.kind, n.is, n.mayMiss)
		}
	}
	return told, problems
}

// diedAfter reports whether a worker died while a request was in flight, or so soon after the reply that its span may not have been sent.
func (l *Ledger) diedAfter(a answer) bool {
	return slices.ContainsFunc(l.troubles, func(t trouble) bool {
		return t.what == workerDied && t.to.After(a.from) && t.from.Before(a.to.Add(lossTime))
	})
}

func isRecalled(s *trace.Span) bool {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == "reagent.recalled" {
			return a.GetValue().GetBoolValue()
		}
	}
	return false
}
