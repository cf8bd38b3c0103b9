package workflows

import (
	"maps"

	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
)

// A reset copies the first tasks of a run into the history of a new run. The new run replays them, and in the replay it must be exactly
// the run that was reset: it has the same state and the same next steps. Only the first task of its own tells the state of the reset.

// rewind tells the state that a reset began this run, in the first task of this run that the reset did not copy. Nothing else of this
// task may be applied before. If the reset copied such a task of another run, the replay tells the state of that reset, with the name of
// that run, which a marker has recorded. The marker also shows the reset in the timeline of the Web UI.
func (d *driver) rewind() {
	length := workflow.GetInfo(d.root).GetCurrentHistoryLength()
	if !d.reset || d.rewound || length == d.rewoundAt || !d.since("reset") {
		return
	}
	name := d.mark("this run began by a reset; it first searches the other runs", d.runSuffix)
	d.author, d.rewound, d.rewoundAt, d.restarted = name, name == d.runSuffix, length, d.now()
	d.state.Apply(agent.Rewound{Run: name})
	d.state.Apply(agent.TimeRestarted{Time: d.restarted})
	maps.DeleteFunc(d.late, func(_ agent.Key, ended bool) bool { return ended }) // see driver.searched
	d.version++
}

// sentHere reports whether `run` is the run that first executed the current task. `run` is the end of the ID of the run that a sender
// saw, or that made a search.
func (d *driver) sentHere(run string) bool {
	d.rewind()
	return run == d.author
}

// rewindAtEnd tells the state of the reset that began this run, if no task has told it. A run may end before its first own task is
// completed. The history then has no record of this task, so [driver.rewind] has done nothing in the replay.
func (d *driver) rewindAtEnd() {
	if d.state != nil && d.reset && !d.rewound {
		d.state.Apply(agent.Rewound{Run: d.runSuffix})
	}
}
