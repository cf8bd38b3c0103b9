package reagenttest

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
)

// Client returns a Temporal client for the agents in a test environment. Pass it to reagent.New, and pass the plugin to the
// environment:
//
//	env.SetStartWorkflowOptions(client.StartWorkflowOptions{TaskQueue: reagent.DefaultTaskQueue})
//	env.SetWorkerOptions(worker.Options{Plugins: []worker.Plugin{agents}})
//
// Such an agent calls its models and tools, and its sub-agents run as well. The test environment cannot reset or resume a workflow, and
// keeps no histories. So an agent that needs one of these ends with an error, for example if a workflow runs two agents with the
// same ID. The client has only the methods that agents need, and the others panic. It is safe for concurrent use.
func Client(env *testsuite.TestWorkflowEnvironment) client.Client { return testClient{env: env} }

type testClient struct {
	client.Client

	env *testsuite.TestWorkflowEnvironment
}

// errNoServer is not retryable: an activity that has failed with it would fail again, and the test would hang.
var errNoServer = temporal.NewNonRetryableApplicationError(
	"there is no Temporal server in the test environment, so the agent cannot read other workflows and histories; use a development server for such a test", "NoServer", nil)

// TestEnvironment tells the plugin that this client is for the test environment. With any other client, agents would wait there for ever.
func (testClient) TestEnvironment() {}

// RecordActivityHeartbeat records a heartbeat of the activity with the given context. It ignores the task token, and returns an error
// only if the context has ended.
func (testClient) RecordActivityHeartbeat(ctx context.Context, _ []byte, details ...any) error {
	if ctx.Err() == nil {
		activity.RecordHeartbeat(ctx, details...)
	}
	return ctx.Err()
}

// QueryWorkflow queries a workflow of the test environment. It ignores the run ID, because each workflow has one run.
func (c testClient) QueryWorkflow(ctx context.Context, workflowID, _, queryType string, args ...any) (converter.EncodedValue, error) {
	type answer struct {
		value converter.EncodedValue
		err   error
	}
	answers := make(chan answer, 1)
	// The environment may only be used in its own goroutine, which calls this function.
	c.env.RegisterDelayedCallback(func() {
		value, err := c.env.QueryWorkflowByID(workflowID, queryType, args...)
		if errors.As(err, new(*serviceerror.NotFound)) { // the workflow that the test has executed
			value, err = c.env.QueryWorkflow(queryType, args...)
		}
		answers <- answer{value, err}
	}, 0)
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// DescribeWorkflowExecution returns an error that is not retryable, because the test environment describes no workflows.
func (testClient) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, errNoServer
}
