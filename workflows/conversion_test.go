package workflows

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The SDK's deadlock detector lets the conversion of a large state take its time. The error of the conversion is that of the function.
func TestConversionOfAStateIsNoDeadlock(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 2 * time.Second})
	failed := errors.New("too large")
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		root, _ := workflow.NewDisconnectedContext(ctx)
		d := &driver{root: root}
		err := d.convert(func() error {
			<-time.After(3 * time.Second) // longer than the detector allows
			return failed
		})
		if !errors.Is(err, failed) {
			return errors.New("convert hides the error")
		}
		return d.convert(func() error { return nil })
	})
	require.NoError(t, env.GetWorkflowError())
}
