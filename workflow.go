package reagent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// Task is a task that a workflow gives to an agent by [Run] or [RunAs].
type Task struct {
	// Agent is the name of the agent's definition. Required.
	Agent string
	// Message is the text of the task. Required.
	Message string
	// Images are URLs of images that the model sees after the text. Each begins with http://, https:// or data:image/. At
	// most [agent.MaxImages] are allowed. The images in data: URLs together may have at most [agent.MaxImageBytes].
	// [agent.CheckMessage] checks these limits.
	Images []string
	// ID is the agent's ID. If it is empty, [Run] makes an ID from the ID of the calling workflow, Agent, and a digest of
	// Agent, Message, Images, OutputSchema and Metadata. So if a workflow runs the same task twice without an ID, the second call returns the
	// answer of the first. A later version of the workflow may change the text of the task, because a replay takes the ID from the
	// history.
	ID string
	// Metadata is what the workflow knows about the task, such as the customer: see [agent.Metadata].
	Metadata map[string]string
	// TaskQueue is the task queue of the agent's workers. Empty means the task queue of the calling workflow.
	TaskQueue string
	// OutputSchema is a JSON schema that the answer must match. Empty means the schema in the agent's definition.
	OutputSchema json.RawMessage
	// NoUIContent keeps the task, and what is said later, out of the texts that Temporal's Web UI shows: see [Options].NoUIContent.
	NoUIContent bool
}

// Result is the answer of an agent, with the tokens and the cost that the agent and its sub-agents have used.
type Result = protocol.Result

// Run runs an agent as a child of the calling workflow, waits until the agent has ended, and returns its answer. If the agent
// ends without an answer, Run returns an error. The errors and the effect of a cancel are described at [workflows.Run].
//
// The agent keeps running if the calling workflow ends. If the workflow is reset or started again, Run finds the agent by its
// ID, so that no work is done or paid for twice.
//
// Package [github.com/reagent-dev/reagent/reagenttest] helps to test the calling workflow without a Temporal server.
func Run(ctx workflow.Context, t Task) (Result, error) {
	start := agent.Start{Agent: t.Agent, OutputSchema: t.OutputSchema, Metadata: t.Metadata, NoUIContent: t.NoUIContent}
	start.Message = &agent.QueuedMessage{ID: "task", Text: t.Message, Images: t.Images}
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

// RunAs runs an agent as [Run] does, and returns the agent's answer as a value of type T. The model gets the JSON schema of
// T, and answers in JSON. RunAs overwrites the OutputSchema of the task. If T has no JSON schema, or if the answer cannot be
// decoded into a T, the error is an application error of type [agent.InvalidOutput].
func RunAs[T any](ctx workflow.Context, t Task) (T, error) {
	var none T
	var err error
	if t.OutputSchema, err = schemaOf[T](); err != nil {
		return none, invalidOutput(err)
	}
	result, err := Run(ctx, t)
	if err != nil {
		return none, err
	}
	answer, err := decode[T](result.Answer)
	if err != nil {
		return none, invalidOutput(err)
	}
	return answer, nil
}

// invalidOutput converts an error to an application error of type [agent.InvalidOutput]. The error is not retryable, because another
// attempt of the calling workflow would get the same answer.
func invalidOutput(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), agent.InvalidOutput, err)
}

// digest returns 16 hexadecimal digits of a hash of Agent, Message, Images, OutputSchema and Metadata. [Run] puts them into the agent's ID, so
// that different tasks get different agents.
func (t Task) digest() string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %q %q", t.Agent, t.Message, t.Images, t.OutputSchema)
	if len(t.Metadata) > 0 {
		metadata, _ := json.Marshal(t.Metadata) // cannot fail: a map of texts
		hash.Write(metadata)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}
