package presence

import (
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// Token returns the task token of the current attempt at an activity, which only the worker has that makes the attempt. Temporal refuses it
// as soon as the attempt has ended. Without a token, an activity is failed by its ID, and that would also fail a later attempt, on a worker
// that lives.
//
// A token is opaque, and this is the form that Temporal's server gives it: the message temporal.server.api.token.v1.Task. If a server
// refuses it, the call waits for its heartbeat timeout. TestTokenIsThatOfTheServer compares it with a token of the server.
func Token(namespaceID string, run *commonpb.WorkflowExecution, scheduled int64, call *workflowpb.PendingActivityInfo) []byte {
	var b []byte
	text := func(field protowire.Number, value string) {
		b = protowire.AppendTag(b, field, protowire.BytesType)
		b = protowire.AppendString(b, value)
	}
	number := func(field protowire.Number, value int64) {
		b = protowire.AppendTag(b, field, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(value))
	}
	text(1, namespaceID)
	text(2, run.GetWorkflowId())
	text(3, run.GetRunId())
	number(4, scheduled)
	number(5, int64(call.GetAttempt()))
	text(6, call.GetActivityId())
	return b
}
