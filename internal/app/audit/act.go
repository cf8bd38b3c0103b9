package audit

import "github.com/reagent-dev/reagent/internal/app/object"

// The acts of people and programs.
const (
	// started begins a run: by a start, a resume, a fork or a continue-as-new.
	started object.Act = "started"
	// reset begins a run with the first events of an earlier run.
	reset object.Act = "reset"
	// asked is a message, and askedAside a question beside the work.
	asked      object.Act = "asked"
	askedAside object.Act = "asked_aside"
	// approved, denied and given are decisions on a call or a text. A result or an answer is given.
	approved object.Act = "approved"
	denied   object.Act = "denied"
	given    object.Act = "given"
	// refused says that the agent has refused a request that the history shows as accepted.
	refused object.Act = "refused"
	// revoked removes a permission.
	revoked     object.Act = "revoked"
	interrupted object.Act = "interrupted"
	closed      object.Act = "closed"
	reloaded    object.Act = "reloaded"
	upgraded    object.Act = "upgraded"
	// cancelled asks the agent to end.
	cancelled object.Act = "cancelled"
)

// The acts of models, tools and agents.
const (
	replied      object.Act = "replied"
	repliedAside object.Act = "replied_aside"
	summarised   object.Act = "summarised"
	// proposed is one call of a reply.
	proposed object.Act = "proposed"
	// judged is the verdict of a guardrail.
	judged object.Act = "judged"
	// called gives a call to a worker, or starts a sub-agent. returned is its end, so that it has run or may have run.
	called   object.Act = "called"
	returned object.Act = "returned"
	// recalled takes the result of an earlier run, so that nothing runs.
	recalled object.Act = "recalled"
	// continued ends a run that goes on in the next one, and ended any other.
	continued object.Act = "continued"
	ended     object.Act = "ended"
)

// The lines about the trail itself.
const (
	// trailBegins is the first line: the agent, empty for all, and since when.
	trailBegins object.Act = "trail_begins"
	// historyRead is a line with the number of the last event that was read from the history of a run.
	historyRead object.Act = "history_read"
	// trailEnds is the last line.
	trailEnds object.Act = "trail_ends"
)

// The reasons why a call may run.
const (
	byPerson     object.Allowed = "person"
	byPermission object.Allowed = "permission"
	byRule       object.Allowed = "rule"
	// byTool means that the definition asks for no approval.
	byTool object.Allowed = "tool"
)
