package agent

// Result is the result of a call, as the model gets it. An error counts as a result. Therefore every call has exactly
// one result in the transcript.
type Result struct {
	// Content is the text of the result.
	Content string `json:"content"`
	// Kind says what the result is. The model does not see it, and no key depends on it.
	Kind ResultKind `json:"kind,omitempty"`
	// Time is the time of the result, in Unix milliseconds.
	Time int64 `json:"time"`
}

// ResultKind says what a [Result] is. The zero ResultKind means that the tool has done its work, or that the sub-agent has answered.
type ResultKind string

const (
	// Errored means that the tool has failed, or that the call has failed without it: for example, it could not be run, a person denied it,
	// or no result came from outside in time.
	Errored ResultKind = "error"
	// NotRun means that the call was not run, because the agent stopped before, for example at a limit.
	NotRun ResultKind = "not_run"
	// OutcomeUnknown means that the call may have done its work: the agent no longer waits for it, or its worker has lost its result.
	OutcomeUnknown ResultKind = "outcome_unknown"
	// WorksOn means that the agent no longer waits for the sub-agent of the call, which works on.
	WorksOn ResultKind = "works_on"
	// InBackground means that the sub-agent of the call works in the background: see [Tool].Background.
	InBackground ResultKind = "in_background"
	// NoAnswer means that the sub-agent of the call has ended without an answer. If it is resumed, it may still answer.
	NoAnswer ResultKind = "no_answer"
)

// KindOf returns [Errored] for an error, and the zero ResultKind for any other result. It is for results that a tool or somebody outside
// gives.
func KindOf(isError bool) ResultKind {
	if isError {
		return Errored
	}
	return ""
}

// IsError reports whether the result is an error. A sub-agent that works in the background is none.
func (k ResultKind) IsError() bool { return k != "" && k != InBackground }

// StandsIn reports whether the result stands in for the real one, which did not come in time or is unknown. Such a call is unanswered,
// and the real result may still come. Until this result is in the transcript, the real one replaces it. Afterwards, the real one becomes
// a late result: see [LateResult].
func (k ResultKind) StandsIn() bool { return k == OutcomeUnknown || k == WorksOn || k == InBackground }

// unanswered reports whether a better result may still come.
func (k ResultKind) unanswered() bool { return k.StandsIn() || k == NoAnswer }

// goesOn reports whether the call no longer waits for its sub-agent, which goes on.
func (k ResultKind) goesOn() bool { return k == WorksOn || k == InBackground }

// stops reports whether the result says that the agent has stopped waiting for the call.
func (k ResultKind) stops() bool { return k == OutcomeUnknown || k == NotRun }
