package reagent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/workflows"
)

// Task is what a workflow asks an agent.
type Task struct {
	// Agent is the name of the definition, and Message the task. Both are required.
	Agent   string
	Message string
	// Images go with the message: web addresses or data: URLs.
	Images []string
	// ID is the agent's ID. Empty means one that is made of the ID of the workflow and of the other fields: a workflow that asks the same
	// twice gets one answer twice. With an ID of its own the second agent is another one. The ID that was made stands in the workflow's
	// history, so new code may word the task in another way.
	ID string
	// TaskQueue is that of the agent's workers. Empty means the workflow's own.
	TaskQueue string
	// OutputSchema is a JSON schema that the answer has to fit. Empty means the definition's.
	OutputSchema json.RawMessage
}

// Result is what an agent has answered, and used.
type Result = workflows.Result

// Run runs an agent as a child of the calling workflow, and waits until it has ended. The agent outlives the run of the caller: a
// workflow that is reset or started again finds it, and pays for nothing twice. An agent that ended without an answer is an error.
func Run(ctx workflow.Context, t Task) (Result, error) {
	start := workflows.Start{Agent: t.Agent, OutputSchema: t.OutputSchema}
	start.Message = &agent.Incoming{ID: "task", Text: t.Message, Images: t.Images}
	id := t.ID
	if id == "" {
		made := workflow.SideEffect(ctx, func(ctx workflow.Context) any {
			return workflow.GetInfo(ctx).WorkflowExecution.ID + "/" + t.Agent + "-" + t.digest()
		})
		if err := made.Get(&id); err != nil {
			return Result{}, err
		}
	}
	return workflows.Run(ctx, id, t.TaskQueue, start)
}

// RunAs is [Run] with an answer that is decoded from JSON: the model is given the JSON schema of T.
func RunAs[T any](ctx workflow.Context, t Task) (T, error) {
	var answer T
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return answer, temporal.NewNonRetryableApplicationError(fmt.Sprintf("the schema of %T: %v", answer, err), agent.InvalidOutput, err)
	}
	if t.OutputSchema, err = json.Marshal(schema); err != nil {
		return answer, temporal.NewNonRetryableApplicationError(fmt.Sprintf("the schema of %T: %v", answer, err), agent.InvalidOutput, err)
	}
	result, err := Run(ctx, t)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal([]byte(result.Answer), &answer); err != nil {
		return answer, temporal.NewNonRetryableApplicationError(fmt.Sprintf("the answer is not JSON of the type %T: %v", answer, err), agent.InvalidOutput, err)
	}
	return answer, nil
}

// digest returns 16 hexadecimal digits that are the same for equal tasks.
func (t Task) digest() string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %q %q", t.Agent, t.Message, t.Images, t.OutputSchema)
	return hex.EncodeToString(hash.Sum(nil))[:16]
}
