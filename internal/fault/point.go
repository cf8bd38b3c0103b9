// Package fault kills a worker process at named points of its conversation with
// Temporal: with SIGKILL, so that nothing is flushed and nobody is told. It is for tests.
//
// All points are on the wire, in one interceptor of the gRPC connection, so that no
// other package has a line about faults. Without the build tag "faults" the package
// is a list of names. With it a process dies where the folder that [Env] names has a file of
// the point's name, which a test puts there with [Arm]:
//
//	test                        worker
//	 │ Arm(dir, ModelAnswered) ─▶ dir/model.answered
//	 │                            … comes to the point, removes the file, dies
//	 └ the file is gone
//
// With the tag a process also records the state of each agent at each workflow task into the
// folder: see [Interceptors] and package statelog.
package fault

// Env names the environment variable that holds the folder of the armed points.
const Env = "REAGENT_FAULTS"

// Point is a place in what a worker and Temporal say to each other.
type Point string

// The points. The first three are those of the activity that calls the model: its task was given to
// the worker and nothing has run, its result is about to be reported, and was reported.
const (
	ModelTaken    Point = "model.taken"
	ModelAnswered Point = "model.answered"
	ModelReported Point = "model.reported"

	ToolTaken    Point = "tool.taken"
	ToolAnswered Point = "tool.answered"
	ToolReported Point = "tool.reported"

	// ChildStarting and ChildStarted are before and after a parent asks Temporal for a sub-agent.
	ChildStarting Point = "child.starting"
	ChildStarted  Point = "child.started"
	// ChildAttaching: the task to wait for a sub-agent that was found was given to the worker.
	// ChildAttached: the sub-agent has ended, and this is about to be reported.
	ChildAttaching Point = "child.attaching"
	ChildAttached  Point = "child.attached"
	// ChildFinishing and ChildFinished are before and after a sub-agent reports its own end.
	ChildFinishing Point = "child.finishing"
	ChildFinished  Point = "child.finished"

	// RollBefore and RollAfter are around a continue-as-new.
	RollBefore Point = "roll.before"
	RollAfter  Point = "roll.after"

	// UpdateBefore and UpdateAfter are around the answer to an update: a message, a close.
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
