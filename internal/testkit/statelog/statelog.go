// Package statelog records the state of an agent workflow at each of its workflow tasks. With these records, a test can
// compare the state of the live workflow with the state of a replay of its history.
//
// The package is for tests only. It has a worker interceptor, so the workflow needs no code for it: the interceptor keeps the
// query handlers that the workflow registers, and calls them. Package [github.com/reagent-dev/reagent/internal/testkit/fault] adds the
// interceptor to a worker process.
package statelog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Entry describes the state of one agent in one workflow task. A test can compare this state with the state after a replay of
// the workflow's history.
type Entry struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
	// Task is the ID of the event with which the workflow task started.
	Task int `json:"task"`
	// PID is the ID of the process that recorded the entry. The identity that a worker reports to Temporal begins with this ID.
	PID int `json:"pid"`
	// Digest is the hash of the workflow's answers to its queries for the transcript, the state and the open calls.
	Digest string `json:"digest"`
	// Summary is a short description of the state, for messages about a difference.
	Summary string `json:"summary"`
}

// Interceptor returns an interceptor that records the states of agent workflows. It calls the function `record` with an
// [Entry] each time a workflow begins to wait, and when a workflow returns. The function must be safe for concurrent use.
// During a replay, the interceptor calls the function only if `replays` is set.
//
// A query can make the workflow handle events before the workflow task for these events starts. In an [Entry] that is recorded
// during such a query, the field `Task` has the event ID of the previous workflow task.
func Interceptor(replays bool, record func(Entry)) interceptor.WorkerInterceptor {
	return &worker{replays: replays, record: record}
}

// FileName is the name of the file to which [ToFile] writes the entries.
const FileName = "states"

// ToFile returns a function that appends entries to the file [FileName] in the folder `dir`, one JSON object per line. The function
// is for [Interceptor]. It writes each line with one write, so a process that is killed leaves whole lines, and several processes
// can use the same file.
//
// ToFile panics if it cannot open the file. The returned function panics if it cannot write to the file.
func ToFile(dir string) func(Entry) {
	file, err := os.OpenFile(filepath.Join(dir, FileName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic("statelog: " + err.Error())
	}
	return func(e Entry) {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = file.Write(append(line, '\n'))
		}
		if err != nil {
			panic("statelog: " + err.Error())
		}
	}
}

type worker struct {
	interceptor.WorkerInterceptorBase

	replays bool
	record  func(Entry)
}

func (w *worker) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &inbound{worker: w}
	in.Next = next
	return in
}

// inbound intercepts the calls to a workflow, for one workflow run. It makes an [Entry] when the workflow returns.
type inbound struct {
	interceptor.WorkflowInboundInterceptorBase

	worker *worker
	out    *outbound
}

func (i *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	i.out = &outbound{worker: i.worker}
	i.out.Next = next
	return i.Next.Init(i.out)
}

func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := i.Next.ExecuteWorkflow(ctx, in)
	i.out.observe(ctx)
	return result, err
}

// outbound intercepts the calls that a workflow makes, for one workflow run. It stores query handlers of the workflow. It
// makes an [Entry] each time the workflow begins to wait.
type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase

	worker *worker

	transcript func(protocol.TranscriptInput) (protocol.TranscriptPage, error)
	view       func() (protocol.StateView, error)
	pending    func() ([]agent.Call, error)
}

func (o *outbound) SetQueryHandler(ctx workflow.Context, name string, handler any) error {
	o.keep(name, handler)
	return o.Next.SetQueryHandler(ctx, name, handler)
}

func (o *outbound) SetQueryHandlerWithOptions(ctx workflow.Context, name string, handler any, options workflow.QueryHandlerOptions) error {
	o.keep(name, handler)
	return o.Next.SetQueryHandlerWithOptions(ctx, name, handler, options)
}

// keep stores a query's handler if the query is for the transcript, the state or the open calls. [outbound.text] calls the
// stored handlers later to read the state of the workflow. keep ignores the handlers of all other queries.
func (o *outbound) keep(name string, handler any) {
	switch name {
	case protocol.TranscriptQuery:
		o.transcript, _ = handler.(func(protocol.TranscriptInput) (protocol.TranscriptPage, error))
	case protocol.StateQuery:
		o.view, _ = handler.(func() (protocol.StateView, error))
	case protocol.PendingQuery:
		o.pending, _ = handler.(func() ([]agent.Call, error))
	}
}

func (o *outbound) Await(ctx workflow.Context, condition func() bool) error {
	o.observe(ctx)
	return o.Next.Await(ctx, condition)
}

// observe makes an [Entry] about the current state and passes it to the function that [Interceptor] got. During a replay,
// observe does nothing unless the caller of Interceptor wants entries of replays.
func (o *outbound) observe(ctx workflow.Context) {
	if workflow.IsReplaying(ctx) && !o.worker.replays {
		return
	}
	info := workflow.GetInfo(ctx)
	e := Entry{
		Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID,
		Task: info.GetCurrentHistoryLength(), PID: os.Getpid(),
	}
	text, err := o.text(&e)
	if err != nil {
		text = []byte(err.Error())
		e.Summary = "error: " + err.Error()
	}
	hash := sha256.Sum256(text)
	e.Digest = hex.EncodeToString(hash[:])
	o.worker.record(e)
}

// text returns the answers to three queries of the workflow as JSON: for the transcript, for the state, and for the open
// calls. It also sets the summary of the entry.
func (o *outbound) text(e *Entry) ([]byte, error) {
	if o.transcript == nil || o.view == nil || o.pending == nil {
		return nil, errors.New("the workflow has no query handlers of the expected types for the transcript, the state and the open calls")
	}
	var all struct {
		View    protocol.StateView
		Pages   []protocol.TranscriptPage
		Pending []agent.Call
	}
	var err error
	if all.View, err = o.view(); err != nil {
		return nil, err
	}
	if all.Pending, err = o.pending(); err != nil {
		return nil, err
	}
	for from := 0; ; {
		page, err := o.transcript(protocol.TranscriptInput{From: from})
		if err != nil {
			return nil, err
		}
		all.Pages = append(all.Pages, page)
		if from = max(from, page.First) + len(page.Messages); len(page.Messages) == 0 || from >= page.Count {
			break
		}
	}
	v := all.View
	e.Summary = fmt.Sprintf("%s, turn %d, %d messages, %d queued, %d pending, %d sub-agents, usage %+v",
		v.Status, v.Turn.Number, v.Messages, v.Queue, len(all.Pending), len(v.Children), v.Usage)
	return json.Marshal(all)
}
