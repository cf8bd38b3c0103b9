// Command schedule creates a Temporal Schedule that starts an agent every morning. Then the program ends. The agents run in
// any worker that serves them, such as cmd/worker.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent"
)

func main() {
	queue := flag.String("task-queue", "agents", "`queue` of the workers that serve the agent")
	name := flag.String("agent", "assistant", "`name` of the agent")
	task := flag.String("task", "Which files of this project have no tests?", "the `message` to each agent")
	now := flag.Bool("now", false, "also start the agent once now")
	flag.Parse()
	if err := run(context.Background(), *queue, *name, *task, *now); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, queue, name, task string, now bool) error {
	options, err := reagent.ClientOptions("", "")
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer c.Close()

	schedule, err := daily(reagent.NewClient(c, queue), "daily-report", name, task)
	if err != nil {
		return err
	}
	handle, err := c.ScheduleClient().Create(ctx, schedule)
	switch {
	case errors.Is(err, temporal.ErrScheduleAlreadyRunning):
		handle = c.ScheduleClient().GetHandle(ctx, schedule.ID)
		fmt.Printf("The schedule %s is there already; it was not changed.\n", schedule.ID)
	case err != nil:
		return err
	default:
		fmt.Printf("The schedule %s starts the agent %s every day at 07:00 UTC.\n", schedule.ID, name)
	}
	if now {
		return handle.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL})
	}
	return nil
}

// daily returns the options of a schedule that starts an agent every day at 07:00 UTC. `id` is the ID of the schedule, and
// the ID of each agent begins with it. `name` is the name of the agents' definition. Each agent gets `task` as its message.
func daily(agents *reagent.Client, id, name, task string) (client.ScheduleOptions, error) {
	action, err := agents.ScheduleAction(reagent.StartOptions{ID: id, Agent: name, Message: task})
	return client.ScheduleOptions{
		ID: id,
		Spec: client.ScheduleSpec{
			Calendars: []client.ScheduleCalendarSpec{{Hour: []client.ScheduleRange{{Start: 7}}}},
		},
		Action: action,
		// If an earlier agent is still running, no new agent starts. If Temporal was down at 07:00, Temporal starts the agent
		// later, but not after CatchupWindow has passed.
		Overlap:       enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: time.Hour,
	}, err
}
