package agent

import (
	"cmp"

	"github.com/reagent-dev/reagent/llm"
)

// InvalidOutput is the error class of a turn that is held (see [Hold]) because of the model's answer. The answer does
// not fit the output schema, even after a correction.
const InvalidOutput = "InvalidOutput"

// maxCorrections is how often in one turn the agent asks the model to correct its answer. An answer needs a
// correction if it does not fit the output schema.
const maxCorrections = 1

func (e DefinitionLoaded) apply(s *State) bool {
	reloaded := s.reloads() && e.Key == s.definitionKey(s.Agent, s.Reloads+1)
	if !reloaded && (s.Definition != nil || e.Key != s.definitionKey(s.Agent, s.Reloads)) {
		return false
	}
	if reloaded {
		s.Reload = false
		s.Reloads++
	}
	if len(s.OutputSchema) > 0 {
		e.Definition.Params.OutputSchema = s.OutputSchema
	}
	s.OwnDefinition = nil // the overrides of the turn are resolved again
	s.define(&e.Definition)
	for i := range s.Calls {
		c := &s.Calls[i]
		if _, known := s.Definition.Tool(c.Name); !known && c.Result == nil && c.Child == "" {
			s.stop(c, toolRemoved(*c, s.Messages[len(s.Messages)-1].Time))
		}
	}
	if len(s.Calls) > 0 {
		s.settleAll(s.Messages[len(s.Messages)-1].Time) // the decision may have come while there was no definition
	}
	s.settleTexts(0)
	s.answerCalls()
	return true
}

func (e DefinitionFailed) apply(s *State) bool {
	if s.reloads() && e.Key == s.definitionKey(s.Agent, s.Reloads+1) {
		s.Reload, s.ReloadFailure = false, e.Message
		s.Reloads++
		return true
	}
	if s.Definition != nil || e.Key != s.definitionKey(s.Agent, s.Reloads) {
		return false
	}
	s.Outcome = &Outcome{Status: Failed, Class: e.Class, Message: e.Message}
	return true
}

func (e ModelAsked) apply(s *State) bool {
	if s.InFlight == e.Key || !s.asked(e.Key) {
		return false
	}
	s.InFlight = e.Key
	return true
}

// asked reports whether the next step is the model call with the given key.
func (s *State) asked(key Key) bool {
	step, ok := s.next().(CallModel)
	return ok && step.Key == key
}

func (e ModelReplied) apply(s *State) bool {
	if step, ok := s.next().(Compact); ok && step.Key == e.Key && e.Key != "" {
		s.summarised(step, e)
		return true
	}
	if !s.asked(e.Key) {
		return false
	}
	s.InFlight = ""
	m := replied(e.Key, e.Reply.Message)
	s.Turn.ModelCalls++
	s.Usage.ModelCalls++
	s.count(e)
	withheld := s.withholds(m, e)
	if !withheld {
		s.append(Message{Message: m, Key: e.Key, FinishReason: cutReason(e.Reply.FinishReason), Model: s.wrote(e.Reply), Time: e.Time})
	}
	s.Compacted = 0
	s.TooLong = s.full(e.Reply.Usage)

	// At a limit, the model would not see the results in this turn, so no call runs.
	refusal := ""
	if r := s.limit(); r.name != "" {
		refusal = textNotRun(r.why)
	}
	s.openAll(e.Key, m.ToolCalls, e.Free, refusal, e.Time)
	if e.Invalid != "" && len(m.ToolCalls) == 0 && !withheld {
		s.correct(e)
	}
	s.advanceTranscript(e.Time)
	return true
}

// correct asks the model to correct an answer that does not fit the output schema. After [maxCorrections] such
// requests in one turn, correct holds the turn instead: see [Hold].
func (s *State) correct(e ModelReplied) {
	if s.Turn.Corrections++; s.Turn.Corrections > maxCorrections {
		s.Hold = &Hold{
			Key: e.Key, Class: InvalidOutput, Time: e.Time,
			Message: "the answer does not fit the output schema: " + e.Invalid,
		}
		return
	}
	s.append(Message{
		Message: llm.Message{Role: llm.User, Content: textInvalid(e.Invalid)},
		Notice:  true, Time: e.Time,
	})
}

// count updates `s.Usage` for a model reply. It adds the tokens and the cost of the reply. It adds the empty replies
// and the failed attempts that came before the reply. It also counts the reply if the model client corrected a mistake
// in it, or if the reply comes from an earlier run. If `e.New` is true, no earlier run has this reply or a later
// result. In this case, count clears `s.Recall`, which ends the search of earlier runs.
func (s *State) count(e ModelReplied) {
	used := e.Reply.Usage.Bounded()
	s.charge(used, e.Reply.Candidate)
	s.LargestReply.Tokens = max(s.LargestReply.Tokens, used.Tokens())
	s.LargestReply.Cost = max(s.LargestReply.Cost, s.price(e.Reply.Candidate).Of(used))
	s.countEmpty(e.Empty)
	s.Usage.Repeats.add(e.Repeats, used.InputTokens)
	if len(e.Reply.Repaired) > 0 {
		s.Usage.RepairedReplies++
	}
	if e.Recalled {
		s.Usage.Recalled++
	}
	if e.New {
		s.Recall = false
	}
}

func (s *State) countEmpty(e EmptyReplies) {
	s.Usage.EmptyReplies = llm.AddCounts(s.Usage.EmptyReplies, e.Count)
	s.charge(e.Usage, "")
}

func (e ModelFailed) apply(s *State) bool {
	compacting, compacts := s.next().(Compact)
	compacts = compacts && compacting.Key == e.Key && e.Key != ""
	if !compacts && !s.asked(e.Key) {
		return false
	}
	s.InFlight = ""
	s.countEmpty(e.Empty)
	switch {
	case e.Class != string(llm.ContextTooLong):
	case compacts:
		s.CutBelow = compacting.From // the next request for a summary covers fewer messages
		s.Compacted++
		return true
	default:
		s.TooLong = true
		s.advanceTranscript(e.Time) // a definition that was read again may have a lower limit, which forbids the summary
		return true
	}
	s.Hold = &Hold{Key: e.Key, Class: e.Class, Message: e.Message, Time: e.Time}
	return true
}

func (e Stopped) apply(s *State) bool {
	if s.Hold != nil || s.Definition == nil || s.answered() || s.Turn.Number == 0 {
		return false
	}
	if e.Class == Interrupted {
		s.stopChildren(e.Message, e.Time)
	}
	s.interruptAll(e.Message, e.Time)
	s.answerCalls()
	s.TooLong, s.Compacted, s.CutBelow, s.InFlight = false, 0, 0, ""
	s.Hold = &Hold{Key: e.Key, Class: e.Class, Message: e.Message, Actor: e.Actor, Time: e.Time}
	return true
}

func (e TimeReached) apply(s *State) bool {
	if e.Turn != s.Turn.Number || !s.TurnRuns() || s.Definition == nil || s.Turn.TimeUp || s.Withheld != nil {
		return false
	}
	limit := s.timeLimit()
	s.interruptAll(limit.why, e.Time)
	s.answerCalls()
	if s.hasOpenCall() {
		s.Turn.TimeUp = true // the turn ends when other runs were asked about the calls
		return true
	}
	s.stopTurn(limit, e.Time)
	return true
}

func (e TimeRestarted) apply(s *State) bool {
	if s.Turn.Number == 0 || s.Turn.Began == e.Time {
		return false
	}
	s.Turn.Began, s.Turn.Trace.Began = e.Time, e.Time
	for i := range s.Calls {
		if s.Calls[i].Began != 0 {
			s.Calls[i].Began = e.Time
		}
	}
	s.restartWaits(e.Time)
	return true
}

func (CancelRequested) apply(s *State) bool {
	// The calls stay open, and a resume goes on with them. If the model were told that they were cancelled, a later run that is reset to a
	// task before the cancel would tell it something else, and do again what followed.
	s.Outcome = &Outcome{Status: Cancelled, Answer: s.Answer(), FinishReason: s.FinishReason(), Message: textCancelled}
	return true
}

// apply lets an agent that has ended go on in a new run. It returns false if the agent was already resumed from the
// same run. The answers stay in the transcript. If the agent waited for a message when it ended, it waits for a
// message again.
func (e Resumed) apply(s *State) bool {
	if s.ResumedFrom == e.RunID {
		return false
	}
	s.ResumedFrom = e.RunID
	s.Outcome, s.Hold, s.Closing, s.InFlight = nil, nil, false, ""
	s.Turn.Began, s.Turn.Trace.Began, s.Turn.TimeUp = e.Time, e.Time, false
	for i := range s.Calls {
		if s.Calls[i].Child != "" {
			s.Calls[i].Began = 0 // the time in which the agent did not run does not count
		}
	}
	s.restartWaits(e.Time)
	if e.Reload {
		s.forgetDefinition()
		s.Reload, s.ReloadFailure = false, ""
		s.Reloads++
	}
	if s.Definition != nil && !s.unsearched() {
		s.advanceTranscript(e.Time) // a turn that was held goes on, and its budget may be used up
	}
	s.reopen()
	return true
}

// forgetDefinition makes the agent read its definition before it does anything else. The next definition may send the messages in another
// form.
func (s *State) forgetDefinition() {
	s.Definition, s.OwnDefinition = nil, nil
	s.TranscriptHash = s.hashSent(s.SentCount())
}

// apply makes the agent read its definition again as soon as possible: see [State.reloads]. It returns false if
// the state already has a request with the same ID.
func (e ReloadAsked) apply(s *State) bool {
	if !see(&s.SeenReloadIDs, e.ID) {
		return false
	}
	s.Reload, s.ReloadFailure = true, ""
	return true
}

// reloads reports whether the agent reads its definition again now. These conditions must hold: the agent has a definition, a reload was
// asked for, no call is open, no model call is in flight, and no summary is to be made.
func (s *State) reloads() bool {
	compacts := s.TooLong && s.Hold == nil && !s.answered()
	return s.Reload && s.Definition != nil && len(s.Calls) == 0 && s.InFlight == "" && !compacts
}

// maxPartialText is the longest time, in milliseconds, for which one [PartialTextAsked] asks for partial text.
const maxPartialText = 60 * 60 * 1000

func (e PartialTextAsked) apply(s *State) bool {
	until := min(e.Until, e.Time+maxPartialText)
	if until <= s.PartialTextUntil {
		return false
	}
	s.PartialTextUntil = until
	return true
}

// ReportsText reports whether a model call or a tool call that begins now reports its text while the text grows. `now` is in Unix
// milliseconds.
func (s *State) ReportsText(now int64) bool { return s.Turn.PartialText || now < s.PartialTextUntil }

func (e ResumeLost) apply(s *State) bool {
	if !see(&s.SeenResumeIDs, e.ID) {
		return false
	}
	s.Usage.ResumeConflicts++
	return true
}

// advanceTranscript updates the transcript after a result or a message. If every call has a result, it moves the
// results into the transcript. If a limit forbids the next model call, advanceTranscript ends the turn.
func (s *State) advanceTranscript(now int64) {
	s.answerCalls()
	switch s.next().(type) {
	case CallModel, Compact:
	default:
		return
	}
	if r := s.limit(); r.name != "" {
		s.stopTurn(r, now)
	}
}

// stopTurn ends the turn at a limit. It adds a message of the assistant to the transcript. The message is the definition's, or it explains
// the limit.
func (s *State) stopTurn(r reached, now int64) {
	s.Turn.Stopped, s.Turn.Limit = r.name, r.ReachedLimit
	s.append(Message{
		Message: llm.Message{Role: llm.Assistant, Content: cmp.Or(s.Definition.Limits.Message, textLimit(r.why))},
		Notice:  true, Time: now,
	})
}
