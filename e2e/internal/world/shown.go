package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// Shown is the output of `starter show --json`.
type Shown struct {
	ID       string         `json:"id"`
	Agent    string         `json:"agent"`
	Status   string         `json:"status"`
	Messages []ShownMessage `json:"messages"`
	Pending  []struct {
		Key, Tool, Arguments string
		CallID               string `json:"call_id"`
		WaitsFor             string `json:"waits_for"`
	} `json:"open_calls"`
	Children []struct{ ID, Agent, Status string } `json:"sub_agents"`
	Usage    Counts                               `json:"usage"`
	Earlier  int                                  `json:"earlier_messages"`
	// Answer is the answer of the last turn.
	Answer string `json:"answer"`
	Error  string `json:"error"`
}

// ShownMessage is a message in [Shown].
type ShownMessage struct {
	Role    llm.Role  `json:"role"`
	Content string    `json:"content"`
	CallID  string    `json:"call_id"`
	Key     string    `json:"key"`
	Time    time.Time `json:"time"`
	Calls   []struct {
		Tool, Arguments string
		CallID          string `json:"call_id"`
	} `json:"calls"`
}

// Message returns the message in the form that a model gets.
func (m ShownMessage) Message() llm.Message {
	said := llm.Message{Role: m.Role, Content: m.Content, ToolCallID: m.CallID}
	for _, c := range m.Calls {
		said.ToolCalls = append(said.ToolCalls, llm.ToolCall{ID: c.CallID, Name: c.Tool, Arguments: c.Arguments})
	}
	return said
}

// Counts are the whole numbers in the usage of an agent, such as tokens, by field name.
type Counts map[string]int

// UnmarshalJSON decodes a JSON object. It ignores fields that are not whole numbers.
func (c *Counts) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*c = Counts{}
	for name, value := range all {
		if n, err := strconv.Atoi(string(value)); err == nil {
			(*c)[name] = n
		}
	}
	return nil
}

// Lines returns one line for each message: the role, the text and the tool calls.
func (s Shown) Lines() []string {
	var lines []string
	for _, m := range s.Messages {
		var line strings.Builder
		line.WriteString(string(m.Role) + ": " + m.Content)
		for _, c := range m.Calls {
			fmt.Fprintf(&line, "[%s %s]", c.Tool, c.Arguments)
		}
		lines = append(lines, line.String())
	}
	return lines
}

// Show returns the output of `starter show` for an agent. If the agent has another status than "running", Show also calls
// [World.Compare].
func (w *World) Show(id string) Shown {
	var s Shown
	require.NoError(w.T, json.Unmarshal([]byte(w.Must("show", "--json", id)), &s))
	if s.Status != "running" {
		w.Compare(id)
	}
	return s
}

// Compare asserts that two ways to read an agent have the same result. One way is to read the agent's history. The other way is
// to query the agent's workflow.
func (w *World) Compare(id string) {
	read, err := w.Client.ShowRecorded(w.T.Context(), id)
	require.NoError(w.T, err)
	var view protocol.StateView
	w.query(id, &view, protocol.StateQuery)
	again, err := w.Client.ShowRecorded(w.T.Context(), id)
	require.NoError(w.T, err)
	if len(again.Messages) != len(read.Messages) || again.Usage != read.Usage {
		return // a time limit has ended the wait of the agent between the two
	}
	require.Equal(w.T, view.Usage, read.Usage)
	require.True(w.T, strings.HasPrefix(read.Answer, strings.TrimSuffix(view.Answer, "…")), "a query cuts what is long")
	if !read.Status.Ended() { // the worker does not learn that the agent was terminated
		require.Equal(w.T, view.Status, read.Status)
		require.Equal(w.T, view.WaitsFor, read.WaitsFor)
		if view.Hold != nil {
			require.Equal(w.T, []string{view.Hold.Class, view.Hold.Message}, []string{read.Class, read.Failure})
		}
	}
	require.Equal(w.T, view.Turn.Stopped, read.Stopped)
	var known, started, shown []string
	for _, c := range view.Children {
		if known = append(known, c.ID); c.Phase != agent.ChildAsked {
			started = append(started, c.ID)
		}
	}
	for _, c := range read.Children {
		shown = append(shown, c.ID)
	}
	// If the agent was cancelled while Temporal started a sub-agent, the state does not say that the sub-agent was started.
	require.Subset(w.T, shown, started)
	require.Subset(w.T, known, shown)
	for from := read.First; from < view.Messages; {
		var page protocol.TranscriptPage
		w.query(id, &page, protocol.TranscriptQuery, protocol.TranscriptInput{From: from})
		require.NotEmpty(w.T, page.Messages)
		require.Equal(w.T, read.First, page.First)
		if from-read.First+len(page.Messages) > len(read.Messages) {
			return // a time limit has ended the wait meanwhile
		}
		require.Equal(w.T, page.Messages, read.Messages[from-read.First:from-read.First+len(page.Messages)])
		from += len(page.Messages)
	}
	require.Len(w.T, read.Messages, view.Messages-read.First)
}

// query sends a query to the agent with the given ID, and stores the answer in out. The parameters name and args are the name
// and the arguments of the query.
func (w *World) query(id string, out any, name string, args ...any) {
	w.Eventually("the agent answers the query "+name, func() bool {
		value, err := w.Temporal.QueryWorkflow(w.T.Context(), id, "", name, args...)
		// Temporal refuses queries of a busy workflow, and of one whose worker has not polled for a while: it may be busy, too. A query
		// may fail in a worker while the history grows. It has no answer in time if its worker has just lost the connection.
		if errors.As(err, new(*serviceerror.QueryFailed)) || errors.As(err, new(*serviceerror.ResourceExhausted)) ||
			errors.As(err, new(*serviceerror.FailedPrecondition)) ||
			errors.As(err, new(*serviceerror.DeadlineExceeded)) || errors.Is(err, context.DeadlineExceeded) {
			return false
		}
		require.NoError(w.T, err)
		require.NoError(w.T, value.Get(out))
		return true
	})
}

// Transcript waits until an agent has the status "waiting" and as many messages as the parameter count says. It returns the
// messages as [Shown.Lines] does.
func (w *World) Transcript(id string, count int) []string {
	var lines []string
	w.Eventually(fmt.Sprint(id, " waits with ", count, " messages"), func() bool {
		s := w.Show(id)
		lines = s.Lines()
		return s.Status == "waiting" && len(lines) == count
	})
	return lines
}

// Finished waits until an agent has completed, and asserts that its answer is the text in the parameter answer.
func (w *World) Finished(id, answer string) {
	w.T.Helper()
	var result struct{ Answer string }
	ctx, cancel := context.WithTimeout(w.T.Context(), Patience)
	defer cancel()
	require.NoError(w.T, w.Temporal.GetWorkflow(ctx, id, "").Get(ctx, &result))
	require.Equal(w.T, answer, result.Answer)
}

// Ends waits until `starter show` prints the given status for an agent.
func (w *World) Ends(id, status string) {
	w.T.Helper()
	w.Eventually(id+" is "+status, func() bool { return w.Show(id).Status == status })
}
