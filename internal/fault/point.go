// Package fault kills a worker process at named points of its communication with Temporal. It uses SIGKILL, so the
// process flushes nothing and reports nothing. The package is for tests only.
//
// All points are in one interceptor of the gRPC connection, so other packages need no code about faults. Without the build
// tag "faults" the package has only the names of the points. With the tag, a process kills itself at a point if the folder
// that [Env] names has a file with the name of the point. A test creates this file with [Arm]:
//
//	test                        worker
//	 │ Arm(dir, ModelAnswered) ─▶ dir/model.answered
//	 │                            … reaches the point, removes the file, kills itself
//	 └ the file does not exist
//
// With the tag, a process also records the state of each agent at each workflow task in the same folder: see
// [Interceptors] and package statelog.
package fault

// Env is the name of an environment variable of worker processes. The variable holds the path of the folder in which [Arm]
// writes its files. If the variable is empty, a process never kills itself and records no states.
const Env = "REAGENT_FAULTS"

// Point is the name of a moment before or after a request of a worker to Temporal. A test can make a worker kill itself at this
// moment; see [Arm].
type Point string

// The points at which a worker process can kill itself.
const (
	// ModelTaken: the worker has received the task of the activity that calls the model, and has not run it.
	// ModelAnswered: the worker is about to report the result. ModelReported: the worker has reported the result.
	ModelTaken    Point = "model.taken"
	ModelAnswered Point = "model.answered"
	ModelReported Point = "model.reported"

	// ToolTaken, ToolAnswered and ToolReported are the same points for the activity that calls a tool.
	ToolTaken    Point = "tool.taken"
	ToolAnswered Point = "tool.answered"
	ToolReported Point = "tool.reported"

	// ChildStarting and ChildStarted are before and after a worker asks Temporal to start a sub-agent.
	ChildStarting Point = "child.starting"
	ChildStarted  Point = "child.started"
	// ChildAttaching: the worker has received the task of the activity AwaitAgent. This activity waits for the end of a
	// sub-agent that was started earlier, for example by an earlier run of its parent. ChildAttached: the sub-agent has ended,
	// and the worker is about to report this.
	ChildAttaching Point = "child.attaching"
	ChildAttached  Point = "child.attached"
	// ChildFinishing and ChildFinished are before and after a worker reports that a sub-agent has completed.
	ChildFinishing Point = "child.finishing"
	ChildFinished  Point = "child.finished"

	// RollBefore and RollAfter are before and after a worker asks Temporal to continue an agent as new.
	RollBefore Point = "roll.before"
	RollAfter  Point = "roll.after"

	// UpdateBefore and UpdateAfter are before and after a worker answers an update, such as a message or a close.
	UpdateBefore Point = "update.before"
	UpdateAfter  Point = "update.after"
)

// Points returns all points.
func Points() []Point {
	return []Point{
		ModelTaken, ModelAnswered, ModelReported,
		ToolTaken, ToolAnswered, ToolReported,
		ChildStarting, ChildStarted, ChildAttaching, ChildAttached, ChildFinishing, ChildFinished,
		RollBefore, RollAfter,
		UpdateBefore, UpdateAfter,
	}
}
