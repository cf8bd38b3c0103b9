package reagent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/typed"
	"github.com/reagent-dev/reagent/workflows"
)

// Task is a task that a workflow gives to an agent.
type Task struct {
	// Agent is the name of the definition, and Message the task. Both are required.
	Agent   string
	Message string
	// Images go with the message: at most [agent.MaxImages]. Each is an http:// or https:// URL, or a data:image/ URL. The data: URLs of a
	// message hold at most [agent.MaxImageBytes] of images together. [agent.CheckMessage] has all the rules.
	Images []string
	// ID is the agent's ID. Empty means that Run makes one of the ID of the workflow and a digest of the other fields. So if a workflow runs
	// the same task twice without an ID, the second call returns the answer of the first. The workflow's history records the ID, so a later
	// version of the workflow may change the text of the task.
	ID string
	// TaskQueue is the task queue of the agent's workers. Empty means that of the calling workflow.
	TaskQueue string
	// OutputSchema is a JSON schema that the answer has to fit. Empty means the definition's.
	OutputSchema json.RawMessage
}

// Result is the answer of an agent and its usage.
type Result = workflows.Result

// Run runs an agent as a child of the calling workflow, and waits until it has ended. The agent goes on if the calling run ends. A workflow
// that is reset or started again finds it and pays for nothing twice. If the agent ends without an answer, Run returns an error.
func Run(ctx workflow.Context, t Task) (Result, error) {
	start := workflows.Start{Agent: t.Agent, OutputSchema: t.OutputSchema}
	start.Message = &agent.InboxMessage{ID: "task", Text: t.Message, Images: t.Images}
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

// RunAs is [Run] with an answer that is decoded from JSON. The model is given the JSON schema of T.
func RunAs[T any](ctx workflow.Context, t Task) (T, error) {
	var none T
	var err error
	if t.OutputSchema, err = typed.Schema[T](); err != nil {
		return none, invalidOutput(err)
	}
	result, err := Run(ctx, t)
	if err != nil {
		return none, err
	}
	answer, err := typed.Decode[T](result.Answer)
	if err != nil {
		return none, invalidOutput(err)
	}
	return answer, nil
}

// invalidOutput makes an error that fails a workflow. Other errors would fail only the workflow task, which Temporal tries again for ever.
func invalidOutput(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), agent.InvalidOutput, err)
}

// digest returns 16 hexadecimal digits that are the same for equal tasks.
func (t Task) digest() string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %q %q", t.Agent, t.Message, t.Images, t.OutputSchema)
	return hex.EncodeToString(hash.Sum(nil))[:16]
}
