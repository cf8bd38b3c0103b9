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

// Env is the name of an environment variable of worker processes. Its value is the path of the folder in which [Arm] writes its
// files. If the variable is empty, a process never kills itself and records no states.
const Env = "REAGENT_FAULTS"

// Point is the name of a moment before or after a request of a worker to Temporal. A test can make a worker kill itself at this
// moment; see [Arm].
type Point string

// The points at which a worker process can kill itself.
const (
	// ModelTaken is reached when the worker has received the task of the activity that calls the model.
	ModelTaken Point = "model.taken"
	// ModelAnswered is reached when the worker is about to report the result of the model call.
	ModelAnswered Point = "model.answered"
	// ModelReported is reached when the worker has reported the result of the model call.
	ModelReported Point = "model.reported"

	// ToolTaken is reached when the worker has received the task of the activity that calls a tool.
	ToolTaken Point = "tool.taken"
	// ToolAnswered is reached when the worker is about to report the result of the tool call.
	ToolAnswered Point = "tool.answered"
	// ToolReported is reached when the worker has reported the result of the tool call.
	ToolReported Point = "tool.reported"

	// ChildStarting is reached before a worker asks Temporal to start a sub-agent.
	ChildStarting Point = "child.starting"
	// ChildStarted is reached after a worker has asked Temporal to start a sub-agent.
	ChildStarted Point = "child.started"
	// ChildAttaching is reached when the worker has received the task of the activity AwaitAgent. This activity waits for the
	// end of a sub-agent that was started earlier, for example by an earlier run of its parent.
	ChildAttaching Point = "child.attaching"
	// ChildAttached is reached when the sub-agent of AwaitAgent has ended, and the worker is about to report this.
	ChildAttached Point = "child.attached"
	// ChildFinishing is reached before a worker reports that a sub-agent has completed.
	ChildFinishing Point = "child.finishing"
	// ChildFinished is reached after a worker has reported that a sub-agent has completed.
	ChildFinished Point = "child.finished"

	// RollBefore is reached before a worker asks Temporal to continue an agent as new.
	RollBefore Point = "roll.before"
	// RollAfter is reached after a worker has asked Temporal to continue an agent as new.
	RollAfter Point = "roll.after"

	// UpdateBefore is reached before a worker answers an update: a request to an agent, such as a message.
	UpdateBefore Point = "update.before"
	// UpdateAfter is reached after a worker has answered an update.
	UpdateAfter Point = "update.after"
)

// Points returns all points, for tests that go through them.
func Points() []Point {
	return []Point{
		ModelTaken, ModelAnswered, ModelReported,
		ToolTaken, ToolAnswered, ToolReported,
		ChildStarting, ChildStarted, ChildAttaching, ChildAttached, ChildFinishing, ChildFinished,
		RollBefore, RollAfter,
		UpdateBefore, UpdateAfter,
	}
}
