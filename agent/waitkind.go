package agent

// waitKind says how a wait for somebody outside is settled, and what becomes of the call if the agent stops waiting before. The zero
// waitKind is that of a call that waits for nobody.
type waitKind struct {
	// noun says what the call waits for, and settledBy what settles the wait, as words in a sentence for people.
	noun, settledBy string
	// result reports whether a result from outside settles the wait: see [Decision].Result. If it is false, an approval, a denial or a
	// [Permission] settles it.
	result bool
	// handed reports whether the work of the call is done outside, and may be done already: see [EffectExternal]. If the agent stops
	// waiting, the outcome is then unknown, and the result may still come late. If handed is false, the call was not run.
	handed bool
	// limit returns the time limit of the wait, in milliseconds. 0 means no limit.
	limit func(Tool) int64
	// overdue is the text for the model if the wait reaches its limit.
	overdue func(limitMS int64) string
}

var waitKinds = map[WaitsFor]waitKind{
	WaitsForApproval: {
		noun: "approval", settledBy: "a decision",
		limit: func(t Tool) int64 { return t.ApprovalMS }, overdue: textNoDecision,
	},
	WaitsForAnswer: {
		noun: "an answer", settledBy: "an answer",
		result: true, limit: resultLimit, overdue: textNoGivenResult,
	},
	WaitsForResult: {
		noun: "a result", settledBy: "a result from outside",
		result: true, handed: true, limit: resultLimit, overdue: textNoHandedResult,
	},
}

func resultLimit(t Tool) int64 { return t.ResultMS }

func (w WaitsFor) kind() waitKind { return waitKinds[w] }

// CallWaitKinds returns all that a call can wait for, in a new slice: see [CallWait].For.
func CallWaitKinds() []WaitsFor { return []WaitsFor{WaitsForApproval, WaitsForAnswer, WaitsForResult} }

// Noun says what a call waits for, such as "an answer". It returns "" if w is not one of [CallWaitKinds].
func (w WaitsFor) Noun() string { return w.kind().noun }

// SettledBy says what settles the wait of a call, such as "a decision". It returns "" if w is not one of [CallWaitKinds].
func (w WaitsFor) SettledBy() string { return w.kind().settledBy }
