package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

func newShow(g *globals) *cobra.Command {
	var asJSON, all, actions bool
	var price float64
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show what an agent said and did",
		Long: `show prints an agent's messages, open calls, unread messages, sub-agents and usage. The
agent may be running or have ended. If the beginning of the conversation was
summarised, show prints only the messages after it; --all reads the others from
Temporal's histories.

With --actions, show also estimates the actions that Temporal Cloud bills for the
agent, from its histories. Queries, and heartbeats that carry text as it grows, are not
in a history. With --action-price, show prints what the actions cost.`,
		Example:           "  starter show talk\n  starter show --json talk | jq .usage\n  starter show --actions --action-price 50 talk",
		Args:              usage.OneID,
		ValidArgsFunction: completeIDs(g, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, queue, done, err := g.agentsOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer done()
			snap, err := c.Show(cmd.Context(), args[0])
			if errors.Is(err, client.ErrNoWorker) {
				fmt.Fprintf(cmd.ErrOrStderr(), "No worker answers on task queue %q; this was read from Temporal's history. Start a worker with `%s`.\n", queue, startWorker)
				snap, err = c.ShowRecorded(cmd.Context(), args[0])
			}
			if err != nil {
				return withExitCode(err, queue)
			}
			if all && snap.First > 0 {
				earlier, err := c.Earlier(cmd.Context(), args[0], snap.First)
				if err != nil {
					return withExitCode(err, queue)
				}
				snap.Messages, snap.First = append(earlier, snap.Messages...), 0
			}
			var billed *actionsView
			if actions || cmd.Flags().Changed("action-price") {
				counted, err := c.Actions(cmd.Context(), args[0])
				if err != nil {
					return withExitCode(err, queue)
				}
				billed = &actionsView{Actions: counted, Total: counted.Total(), CostUSD: float64(counted.Total()) * price / 1e6}
			}
			if asJSON {
				v := view(snap)
				v.Actions = billed
				return printJSON(cmd.OutOrStdout(), v)
			}
			printSnapshot(cmd.OutOrStdout(), snap)
			if billed != nil {
				fmt.Fprintln(cmd.OutOrStdout(), billed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&actions, "actions", false, "estimate the actions that Temporal Cloud bills for the agent")
	cmd.Flags().Float64Var(&price, "action-price", 0, "the price of a million actions, in `dollars`")
	cmd.Flags().BoolVar(&all, "all", false, "show also the messages that were summarised")
	return cmd
}

// agentView is the JSON form of an agent. Scripts read this form. Fields may be added, but must not be changed.
type agentView struct {
	ID       string        `json:"id"`
	Agent    string        `json:"agent"`
	Status   client.Status `json:"status"`
	Messages []messageView `json:"messages"`
	// Earlier is the number of older messages, which are not in `Messages`. A summary has replaced them; the flag `--all`
	// shows them.
	Earlier int           `json:"earlier_messages,omitempty"`
	Retry   *retryView    `json:"retry,omitempty"`
	Pending []pendingView `json:"pending"`
	// Inbox holds the messages that the agent has not taken yet.
	Inbox    []inboxView `json:"queue,omitempty"`
	Children []childView `json:"children"`
	// EarlierChildren is the number of sub-agents that are not in `Children`. They are sub-agents that ended long ago, and
	// sub-agents that have not started yet.
	EarlierChildren int       `json:"earlier_children,omitempty"`
	Usage           usageView `json:"usage"`
	// Actions is an estimate of the billed actions. The field is absent without the flag `--actions`.
	Actions *actionsView `json:"actions,omitempty"`
	Result  string       `json:"result,omitempty"`
	// FinishReason is the provider's finish reason of an answer that may not be whole, such as "length". The field is absent for
	// other answers.
	FinishReason string `json:"finish_reason,omitempty"`
	// Stopped names the limit that ended the last turn. The field is absent if no limit ended the turn.
	Stopped string `json:"stopped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// retryView is the JSON form of a call that failed and is tried again.
type retryView struct {
	What    string `json:"what"`
	Class   string `json:"class"`
	Message string `json:"message"`
	Attempt int    `json:"attempt"`
	// Next is the time of the next attempt. The field is absent while an attempt runs.
	Next *time.Time `json:"next,omitempty"`
}

type messageView struct {
	Role       llm.Role       `json:"role"`
	Content    string         `json:"content"`
	ToolCalls  []llm.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	// FinishReason is the provider's finish reason of a reply that is not a usual one. The field is absent for other messages.
	FinishReason string    `json:"finish_reason,omitempty"`
	Key          agent.Key `json:"key,omitempty"`
	// DecidedBy says who has decided on the call of this result, or has given the result. The field is absent for other messages.
	DecidedBy *deciderView `json:"decided_by,omitempty"`
	Time      time.Time    `json:"time"`
}

// deciderView is an [agent.Decider].
type deciderView struct {
	By         string    `json:"by,omitempty"`
	From       string    `json:"from,omitempty"`
	Denied     bool      `json:"denied,omitempty"`
	Remembered bool      `json:"remembered,omitempty"`
	Time       time.Time `json:"time"`
}

type pendingView struct {
	Key       agent.Key `json:"key"`
	CallID    string    `json:"call_id"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	State     string    `json:"state"`
}

type inboxView struct {
	ID    string    `json:"id"`
	Text  string    `json:"text"`
	Steer bool      `json:"steer,omitempty"`
	Time  time.Time `json:"time"`
}

type childView struct {
	ID     string        `json:"id"`
	Agent  string        `json:"agent"`
	Status client.Status `json:"status"`
}

type usageView struct {
	ModelCalls   int `json:"model_calls"`
	ToolCalls    int `json:"tool_calls"`
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens is a part of InputTokens.
	CachedTokens int `json:"cached_tokens"`
	// CacheWriteTokens is a part of InputTokens.
	CacheWriteTokens int `json:"cache_write_tokens"`
	// ReasoningTokens is a part of OutputTokens.
	ReasoningTokens int `json:"reasoning_tokens"`
	// CostUSD is the cost in US dollars.
	CostUSD float64 `json:"cost_usd"`
	// Tree counts the agent and all sub-agents that have ended.
	Tree        treeUsage `json:"tree"`
	Compactions int       `json:"compactions"`
	// These four fields count what recovery did: see [agent.Usage].
	Recalled   int `json:"recalled"`
	Reattached int `json:"reattached"`
	Unanswered int `json:"unanswered"`
	Repaired   int `json:"repaired"`
	// EmptyReplies counts replies without content. After such a reply, the model was called again.
	EmptyReplies int `json:"empty_replies"`
	// RepairedReplies counts replies in an unusual form that the worker could repair.
	RepairedReplies int `json:"repaired_replies"`
	// RepeatedAttempts counts the attempts at model calls that failed or were lost before another attempt brought the reply.
	RepeatedAttempts int `json:"repeated_attempts"`
	// LostAttempts counts those of the repeated attempts that their worker did not report. The provider may have billed the
	// lost attempts in addition to the tokens above.
	LostAttempts int `json:"lost_attempts"`
	// LostInputTokens counts the input tokens of the lost attempts.
	LostInputTokens int `json:"lost_input_tokens"`

	ResumeConflicts int `json:"resume_conflicts"`
	DuplicateEvents int `json:"duplicate_events"`
}

// actionsView is the JSON form of the actions that Temporal Cloud bills for an agent.
type actionsView struct {
	history.Actions
	Total int `json:"total"`
	// CostUSD is the cost in US dollars. The field is absent if no price was given.
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// String returns one line about the actions.
func (v *actionsView) String() string {
	text := fmt.Sprintf("billed actions: about %d (starts %d, activities %d, retries %d, heartbeats %d, timers %d, updates %d, signals %d, changes of search attributes %d, waits %d)",
		v.Total, v.Starts, v.Activities, v.Retries, v.Heartbeats, v.Timers, v.Updates, v.Signals, v.Attributes, v.Waits)
	if v.CostUSD > 0 {
		text += fmt.Sprintf("; $%.6f", v.CostUSD)
	}
	return text
}

type treeUsage struct {
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
}

func dollars(m agent.Money) float64 { return float64(m) / float64(agent.Dollar) }

func view(s client.Snapshot) agentView {
	tree := s.Usage.Spent()
	v := agentView{
		ID: s.ID, Agent: s.Agent, Status: s.Status, FinishReason: s.FinishReason, Stopped: s.Stopped, Error: s.Failure,
		Messages: []messageView{}, Pending: []pendingView{}, Children: []childView{},
		Usage: usageView{
			ModelCalls: s.Usage.ModelCalls, ToolCalls: s.Usage.ToolCalls,
			InputTokens: s.Usage.InputTokens, OutputTokens: s.Usage.OutputTokens,
			CachedTokens: s.Usage.CachedTokens, CacheWriteTokens: s.Usage.CacheWriteTokens, ReasoningTokens: s.Usage.ReasoningTokens, CostUSD: dollars(s.Usage.Cost),
			Tree:        treeUsage{tree.InputTokens, tree.OutputTokens, dollars(tree.Cost)},
			Compactions: s.Usage.Compactions,
			Recalled:    s.Usage.Recalled, Reattached: s.Usage.Reattached,
			Unanswered: s.Usage.Unanswered, Repaired: s.Usage.Repaired,
			EmptyReplies: s.Usage.EmptyReplies, RepairedReplies: s.Usage.RepairedReplies,
			RepeatedAttempts: s.Usage.Repeats.Attempts, LostAttempts: s.Usage.Repeats.Lost, LostInputTokens: s.Usage.Repeats.LostInputTokens,
			ResumeConflicts: s.Usage.ResumeConflicts, DuplicateEvents: s.Usage.DuplicateEvents,
		},
	}
	if s.Status == client.Completed {
		v.Result = s.Answer
	}
	v.Earlier = s.First
	if r := s.Retry; r != nil {
		v.Retry = &retryView{What: r.What, Class: r.Class, Message: r.Message, Attempt: r.Attempt}
		if !r.Next.IsZero() {
			v.Retry.Next = &r.Next
		}
	}
	for _, m := range s.Messages {
		v.Messages = append(v.Messages, viewMessage(m))
	}
	for _, c := range s.Pending {
		state := cmp.Or(string(c.WaitsFor()), "running")
		v.Pending = append(v.Pending, pendingView{Key: c.Key, CallID: c.CallID, Tool: c.Name, Arguments: c.Arguments, State: state})
	}
	for _, m := range s.Queue {
		v.Inbox = append(v.Inbox, inboxView{ID: m.ID, Text: m.Text, Steer: m.Steer, Time: time.UnixMilli(m.Time).UTC()})
	}
	v.EarlierChildren = s.ChildCount - len(s.Children)
	for _, c := range s.Children {
		v.Children = append(v.Children, childView(c))
	}
	return v
}

func viewMessage(m agent.Message) messageView {
	calls := slices.Clone(m.ToolCalls)
	for i := range calls {
		calls[i].Opaque = llm.Opaque{} // it says nothing to people
	}
	v := messageView{
		Role: m.Role, Content: m.Content, ToolCalls: calls, ToolCallID: m.ToolCallID,
		FinishReason: m.FinishReason, Key: m.Key, Time: time.UnixMilli(m.Time).UTC(),
	}
	if d := m.Decider; d != nil {
		v.DecidedBy = &deciderView{By: d.By, From: d.From, Denied: d.Denied, Remembered: d.Remembered, Time: time.UnixMilli(d.Time).UTC()}
	}
	return v
}

func printJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// encodeJSON writes a value as JSON and a newline. Each level is indented by the text `indent`. If this text is empty, the
// JSON is on one line.
func encodeJSON(w io.Writer, v any, indent string) error {
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(printable.JSON(encoded.Bytes()))
	return err
}

func printSnapshot(w io.Writer, s client.Snapshot) {
	fmt.Fprintf(w, "%s  %s  %s\n", printable.Name(s.ID), printable.Name(s.Agent), s.Status)
	if s.First > 0 {
		fmt.Fprintf(w, "… %d earlier messages were summarised; --all shows them\n", s.First)
	}
	p := newTranscriptPrinter(w)
	for _, m := range s.Messages {
		p.message(m)
	}
	waits := false
	for _, c := range s.Pending {
		text := ""
		if c.Waits() {
			text, waits = ", waits for "+string(c.WaitsFor()), true
		}
		fmt.Fprintf(w, "… %s %s%s\n", printable.Line(c.Name, 100), printable.Line(c.Arguments, 200), text)
	}
	if waits {
		fmt.Fprintln(w, "Somebody has to act: see `starter inbox`")
	}
	for _, m := range s.Queue {
		fmt.Fprintf(w, "waiting  > %s\n", printable.Line(m.Text, 200))
	}
	if earlier := s.ChildCount - len(s.Children); earlier > 0 {
		fmt.Fprintf(w, "… %d more sub-agents, which ended long ago or have not started\n", earlier)
	}
	for _, c := range s.Children {
		fmt.Fprintf(w, "sub-agent  %s  %s  %s\n", printable.Name(c.ID), printable.Name(c.Agent), c.Status)
	}
	if s.Retry != nil {
		fmt.Fprintln(w, retryText(*s.Retry, s.ID))
	}
	fmt.Fprintf(w, "%d model calls, %d tool calls, %d tokens in, %d out%s\n",
		s.Usage.ModelCalls, s.Usage.ToolCalls, s.Usage.InputTokens, s.Usage.OutputTokens, costText(s.Usage))
	if s.Stopped != "" {
		fmt.Fprintf(w, "The last turn was stopped by limits.%s of the configuration\n", s.Stopped)
	}
	if s.FinishReason != "" {
		fmt.Fprintf(w, "The answer may not be whole: the model ended it with the finish reason %s\n", printable.Name(s.FinishReason))
	}
	if text := repeatsText(s.Usage.Repeats); text != "" {
		fmt.Fprintln(w, text)
	}
	if s.Failure != "" {
		fmt.Fprintf(w, "%s: %s\n", s.Status, printable.Text(s.Failure))
	}
}

// transcriptPrinter prints the messages of a transcript for people.
type transcriptPrinter struct {
	out   io.Writer
	calls map[string]printedCall // the printed tool calls by call ID
}

// printedCall is a tool call that a [transcriptPrinter] has printed.
type printedCall struct {
	name string // the tool's name
	// asked is the time of the model's reply with this call, in Unix milliseconds.
	asked int64
}

func newTranscriptPrinter(out io.Writer) *transcriptPrinter {
	return &transcriptPrinter{out: out, calls: map[string]printedCall{}}
}

func (p *transcriptPrinter) message(m agent.Message) {
	switch m.Role {
	case llm.User:
		fmt.Fprintf(p.out, "> %s\n", strings.ReplaceAll(printable.Text(m.Content), "\n", "\n> "))
	case llm.Tool:
		call, took := p.calls[m.ToolCallID], ""
		if call.asked > 0 {
			took = tookText(m.Time - call.asked)
		}
		fmt.Fprintf(p.out, "  %s → %s%s\n", call.name, printable.Line(m.Content, 200), took)
	default:
		if m.Content != "" {
			fmt.Fprintln(p.out, printable.Text(m.Content))
		}
		for _, c := range m.ToolCalls {
			name := printable.Line(c.Name, 100)
			p.calls[c.ID] = printedCall{name, m.Time}
			fmt.Fprintf(p.out, "  %s %s\n", name, printable.Line(c.Arguments, 200))
		}
	}
}

// repeatsText returns a text about repeated attempts at model calls. It gives the number of these attempts. It also says how
// many of them were lost because a worker crashed or lost contact with Temporal. The provider may have billed the lost
// attempts. The text is empty if no attempt was repeated.
func repeatsText(r agent.Repeats) string {
	if r.Attempts == 0 {
		return ""
	}
	text := fmt.Sprintf("%d attempts at model calls were repeated", r.Attempts)
	if r.Attempts == 1 {
		text = "1 attempt at a model call was repeated"
	}
	if r.Lost > 0 {
		text += fmt.Sprintf("; %d of them lost with a worker; the provider may have billed these, too (%d tokens in)", r.Lost, r.LostInputTokens)
	}
	return text
}

// costText returns the last part of a line about an agent's usage: a comma and the cost. The cost includes the sub-agents that
// have ended. If the cost is 0, the part is empty.
func costText(u agent.Usage) string {
	cost := u.Spent().Cost
	if cost == 0 {
		return ""
	}
	return ", " + cost.String()
}
