package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/activities/internal/attempt"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
)

const (
	// maxReplyBytes limits the size of a reply in a payload. Temporal rejects a payload over 2 MB. The limit is lower because
	// the arguments of all tool calls of a reply also become activity inputs, in the commands of one workflow task.
	maxReplyBytes = 1_000_000
	// maxErrorBytes limits the text of an error that enters the history.
	maxErrorBytes = 2_000
)

// CallModel makes a model call and returns the reply. It does not call the model if an earlier run has recorded the reply, or if
// this worker has stored the reply for an earlier attempt or is still waiting for it. In these cases, it returns that reply. If the model
// call fails, the type of the error is an [llm.Class]. Most other errors have a type that the package `protocol` defines.
func (a *Activities) CallModel(ctx context.Context, in protocol.CallModelInput) (result protocol.ModelResult, err error) {
	ctx = logs.WithTrace(ctx, in.Traceparent)
	beat := a.attempts.Start(ctx, in.PartialText, &in.Recall)
	defer func() { beat.Stop(err) }()
	if err = beat.TooLate(); err == nil && !a.attempts.RunsHere(beat.Key()) {
		err = beat.CheckLost("made this model call")
	}
	if err != nil {
		return result, err
	}
	m, err := a.runs.Recall(ctx, in.Recall)
	if err != nil {
		return result, err
	}
	var earlier protocol.ModelResult
	if ok, err := a.runs.Decode(m, &earlier); ok || err != nil {
		earlier.Recalled, earlier.NewIn = true, ""
		if err == nil {
			a.telemetry.RecalledModelCall(ctx, operation(beat, in.Traceparent), earlier.Reply)
		}
		return earlier, err
	}
	keep := func(protocol.ModelResult) bool { return true }
	result, err = attempt.Once(a.attempts, beat, keep, func(e *attempt.Operation) (protocol.ModelResult, error) { return a.reply(e, in) })
	result.NewIn = "" // a stored result may come from another run
	if m.Searched {
		result.NewIn = protocol.RunSuffix(beat.Info().WorkflowExecution.RunID)
	}
	return result, err
}

// reply makes the model call of an activity. It assembles the request, calls the model, and returns the activity's result.
// The key of the request, a hash of its content, is the activity's ID.
func (a *Activities) reply(e *attempt.Operation, in protocol.CallModelInput) (protocol.ModelResult, error) {
	ctx, beat := e.Context(), e.Attempt()
	id, key := names(ctx)
	req, sent, err := a.assemble(ctx, in)
	if err != nil {
		return protocol.ModelResult{}, err
	}
	req.Key, req.PromptCacheKey = string(key), sent.origin.PromptCacheKey()
	// The answer is later checked against the output schema.
	if err = tool.CheckSchema(req.Params.OutputSchema); err != nil {
		err = fmt.Errorf("the request was not sent: output_schema: %w", err)
	}
	if err = cmp.Or(err, req.Check()); err != nil {
		a.log.ErrorContext(ctx, "a request was not sent", "error", logs.Redacted(err, a.redact))
		return protocol.ModelResult{}, temporal.NewNonRetryableApplicationError(err.Error(), string(llm.InvalidRequest), nil)
	}
	reply, err := a.ask(e, in, req)
	if err != nil {
		return protocol.ModelResult{}, err
	}
	reply = reply.MapText(a.redact)
	if reply = fit(reply); len(reply.Repaired) > 0 {
		a.log.InfoContext(ctx, "a reply was repaired", "repairs", reply.Repaired)
	}
	invalid := ""
	if schema := req.Params.OutputSchema; len(schema) > 0 && len(reply.Message.ToolCalls) == 0 {
		invalid = clip.UTF8(tool.Violation(schema, reply.Message.Content), maxErrorBytes)
	}
	if !in.Compact && !in.Aside {
		a.cache.extend(id, sent, agent.SentReply(key, reply, in.Reasoning))
	}
	return protocol.ModelResult{Reply: protocol.OmitDefaults(reply, req.Candidates[0]), Empty: beat.Progress().Empty, Repeats: beat.Repeats(), Invalid: invalid, Free: a.free(ctx, in, reply.Message.ToolCalls)}, nil
}

// ask sends the request to one of its candidates, which are the models that can answer the request. If the model fails and
// there are other candidates, the returned error makes the next attempt call another candidate: see [attempt.Attempt.FallBack].
//
// Neither a summary of the conversation nor an aside is part of an answer, so ask does not stream the chunks of these and does not report
// them as partial text. Nor does it for an answer that guardrails judge.
func (a *Activities) ask(e *attempt.Operation, in protocol.CallModelInput, req llm.Request) (llm.Reply, error) {
	ctx, beat, summary := llm.WithMetadata(e.Context(), in.Metadata.WithoutCaller()), e.Attempt(), in.Compact || in.Aside || in.Judged
	id, key := names(ctx)
	turn := beat.Candidate()
	candidate := req.Candidates[turn%len(req.Candidates)]
	model, ok := a.models[candidate.Name]
	if !ok {
		return llm.Reply{}, missing("model", candidate.Name)
	}
	beat.Describe(fmt.Sprintf("%s (%s)", candidate.Name, candidate.Model))
	all := req.Candidates
	req = req.To(candidate)
	if err := a.wait(ctx, candidate.Name, req); err != nil {
		return llm.Reply{}, attemptEnded(ctx, err.Error())
	}
	if err := e.Confirm(); err != nil {
		return llm.Reply{}, err
	}
	try := beat.Try()
	tell := func(p Chunk) {
		if a.streamer != nil && !summary {
			p.AgentID, p.Key, p.Attempt = id, key, try
			a.streamer.Stream(p)
		}
	}
	heard := func() {}
	hear := func(d llm.Delta) {
		heard()
		if !summary {
			if d.Whole && d.Text != "" {
				beat.ClearText()
			}
			beat.AddText(d.Text)
		}
		tell(Chunk{Delta: d})
	}
	var late atomic.Pointer[error]
	guarded := llm.WithGuard(llm.WithStream(ctx, hear), func() error {
		err := e.Confirm()
		if err != nil {
			late.Store(&err)
		}
		return err
	})
	guarded, span := a.telemetry.StartModelCall(guarded, operation(beat, in.Traceparent), llm.ServerOf(model.Client), req)
	heard = span.Heard
	reply, err := model.Client.Complete(guarded, req)
	if err != nil {
		span.Failed(err, model.Price.Of)
	} else {
		span.Replied(reply.MapText(a.redact), model.Price.Of(reply.Usage))
	}
	if err := late.Load(); err != nil {
		return llm.Reply{}, *err
	}
	if err == nil {
		tell(Chunk{End: Committed})
		a.used(candidate.Name, req, reply)
		reply.Candidate = candidate.Name
		return reply, nil
	}
	tell(Chunk{End: Discarded})
	var empty agent.EmptyReplies
	if nothing, ok := errors.AsType[*llm.Error](err); ok && nothing.Class == llm.EmptyReply {
		empty = beat.CountEmpty(nothing.Usage)
		a.log.WarnContext(ctx, "the model's reply was empty", "attempt", try,
			"model", nothing.Model, "finish_reason", nothing.FinishReason,
			"input_tokens", nothing.Usage.InputTokens, "output_tokens", nothing.Usage.OutputTokens)
	}
	failed := a.modelError(ctx, beat, a.models[all[0].Name].RetryFor, empty, err)
	if len(all) > 1 {
		failed = beat.FallBack(turn, len(all), failed)
	}
	return llm.Reply{}, failed
}

// modelError converts the error of a model's client into the error of the activity. The result is retryable if the error's class is
// retryable and the model was called fewer times than [protocol.MaxModelAttempts] allows. In an outage, `retryFor` limits the time
// instead, unless it is zero: see [Model]. An error that is no [*llm.Error] has the class [llm.Connection].
//
// The retry delay is the delay that the provider set. If the provider set none, the delay grows from one second to one minute
// with the number of calls. If there were empty replies, their counts become the details of the error. If the context has
// ended, modelError returns the error of [attemptEnded] instead.
func (a *Activities) modelError(ctx context.Context, beat *attempt.Attempt, retryFor time.Duration, empty agent.EmptyReplies, err error) error {
	if ctx.Err() != nil {
		return attemptEnded(ctx, a.redact(err.Error()))
	}
	try := beat.Tries()
	class, wait := llm.Connection, time.Duration(0)
	if known, ok := errors.AsType[*llm.Error](err); ok {
		class, wait = known.Class, known.RetryAfter
	}
	if wait == 0 {
		wait = min(time.Second<<min(try-1, 6), time.Minute)
	}
	final := !class.Retryable() || try >= protocol.MaxModelAttempts(class)
	if retryFor > 0 && class.Outage() {
		final = wait > beat.Outage(retryFor)
	}
	text := clip.UTF8(a.redact(err.Error()), maxErrorBytes)
	if class.Retryable() && final {
		text = fmt.Sprintf("%s; gave up after %d attempts", text, try)
	}
	options := temporal.ApplicationErrorOptions{NonRetryable: final, NextRetryDelay: wait}
	if empty.Count > 0 {
		options.Details = []any{empty}
	}
	return temporal.NewApplicationErrorWithOptions(text, string(class), options)
}

// missing returns the error for a model or tool that this worker does not have. The given kind is "model" or "tool". The
// error is retryable, because another worker of the task queue may have the model or tool.
func missing(kind, name string) error {
	return temporal.NewApplicationErrorWithOptions(
		fmt.Sprintf("the %s %q is not on this worker; another worker of the task queue may have the %[1]s. If no worker has the %[1]s, "+
			"add the %[1]s to the configuration of the workers, or interrupt the agent and reload its definition", kind, name), protocol.Missing,
		temporal.ApplicationErrorOptions{NextRetryDelay: 5 * time.Second})
}

// attemptEnded returns the error for an activity that must stop because its context has ended. If the workflow has cancelled
// the activity, the error is a cancellation. In all other cases, for example if the worker is stopping or Temporal has given up the
// attempt, the error is retryable and contains the given text.
func attemptEnded(ctx context.Context, text string) error {
	if temporal.IsCanceledError(context.Cause(ctx)) {
		return temporal.NewCanceledError()
	}
	return temporal.NewApplicationErrorWithCause("this attempt ended before the call did, because its worker is stopping or its time is up; Temporal makes another attempt: "+clip.UTF8(text, maxErrorBytes), protocol.AttemptEnded, nil)
}
