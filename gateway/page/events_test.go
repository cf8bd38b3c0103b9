package page

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/llm"
)

// told is an agent that has told all of its transcript, and has ended.
var told = []agent.Message{
	{Key: "m1", Message: llm.Message{Role: llm.User, Content: "Order plums and cherries, please, and say when they come."}},
	{Key: "model-1", Message: llm.Message{Role: llm.Assistant, Content: strings.Repeat("I look and order. ", 10), ToolCalls: []llm.ToolCall{{Name: "find"}, {Name: "order"}}}},
	{Key: "tool-1", Message: llm.Message{Role: llm.Tool, Content: "found"}},
	{Key: "tool-2", Message: llm.Message{Role: llm.Tool, Content: "ordered\r\n<b>\r"}, Waited: []agent.Waited{{For: agent.WaitsForApproval, Key: "tool-2", Round: 1}}},
	{Key: "m2", Message: llm.Message{Role: llm.User, Content: "Hurry."}},
	{Key: "model-2", Message: llm.Message{Role: llm.Assistant, Content: "Done."}},
}

// reads yields the transcript from an index on as the client does, and then the status.
func reads(status client.Status) func(from int) iter.Seq2[client.Update, error] {
	return func(from int) iter.Seq2[client.Update, error] {
		return func(yield func(client.Update, error) bool) {
			r := conversation.NewReader(from)
			for i := from; i < len(told); i++ {
				events, err := r.Message(&told[i])
				if !yield(client.Update{Progress: client.Progress{Message: &told[i], Index: i}, Events: events}, err) {
					return
				}
			}
			yield(client.Update{Progress: client.Progress{Index: len(told), Status: status, Snapshot: &client.Snapshot{Status: status}}}, nil)
		}
	}
}

// event is a server-sent event.
type event struct {
	name, id string
	data     map[string]any
}

// listen reads events after a position until `enough` says so, or the stream ends.
func (s *served) listen(after string, enough func(event) bool) (all []event) {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.server.URL+"/c/c/events", nil)
	require.NoError(s.t, err)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	require.Equal(s.t, "text/event-stream", answer.Header.Get("Content-Type"))
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	var e event
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			require.NoError(s.t, json.Unmarshal([]byte(value), &e.data))
		case "":
			if e.name == "" {
				continue // a comment
			}
			all = append(all, e)
			if enough(e) {
				return all
			}
			e = event{}
		}
	}
	require.NoError(s.t, lines.Err())
	return all
}

func never(event) bool { return false }

func positions(events []event) (ids, elements []string) {
	for _, e := range events {
		if e.id != "" {
			ids, elements = append(ids, e.id), append(elements, e.data["id"].(string))
		}
	}
	return ids, elements
}

// A reader that is cut off anywhere, and goes on with the last ID, gets each block once.
func TestReaderGoesOnWhereItWasCutOff(t *testing.T) {
	f := &fake{snaps: map[string]client.Snapshot{"c": {Agent: "x"}}, updates: reads(client.Completed)}
	s := serve(t, f, nil)
	whole := s.listen("", never)
	require.Equal(t, "end", whole[len(whole)-1].name)
	ids, elements := positions(whole)
	require.Equal(t, []string{"m-0", "m-1", "call-model-1-0", "call-model-1-1", "m-4", "m-5"}, elements)
	for n := range ids {
		got := 0
		first := s.listen("", func(e event) bool {
			if e.id != "" {
				got++
			}
			return got == n+1
		})
		rest := s.listen(first[len(first)-1].id, never)
		firstIDs, _ := positions(first)
		restIDs, _ := positions(rest)
		require.Equal(t, ids, append(firstIDs, restIDs...), "cut off after %d", n)
		require.Equal(t, "end", rest[len(rest)-1].name)
	}
}

// The blocks that come live are those of the page, and a reader of the page gets only what follows it.
func TestLiveBlocksAreThoseOfThePage(t *testing.T) {
	for n := range len(told) + 1 {
		if n < len(told) && told[n].Role == llm.Tool {
			continue // the page has an open call then
		}
		f := &fake{snaps: map[string]client.Snapshot{"c": {Agent: "x", Count: n, Messages: told[:n], Status: client.Running}}, updates: reads(client.Completed)}
		s := serve(t, f, nil)
		_, page, _ := s.get("/c/c")
		_, after, _ := strings.Cut(page, `data-after="`)
		after, _, _ = strings.Cut(after, `"`)
		_, elements := positions(s.listen(after, never))
		all := map[string]int{}
		for _, id := range elements {
			all[id]++
		}
		for _, id := range []string{"m-0", "m-1", "call-model-1-0", "call-model-1-1", "m-4", "m-5"} {
			if strings.Contains(page, `id="`+id+`"`) {
				all[id]++
			}
			require.Equal(t, 1, all[id], "%s after %d messages", id, n)
		}
	}
}

// A lost attempt at a model call costs nothing, because its text was a preview. A reset makes the page load again.
func TestLostTextAndReset(t *testing.T) {
	failing := func(failure error) func(int) iter.Seq2[client.Update, error] {
		failed := false
		return func(from int) iter.Seq2[client.Update, error] {
			return func(yield func(client.Update, error) bool) {
				if failed {
					reads(client.Failed)(from)(yield)
					return
				}
				failed = true
				stop := false
				reads(client.Running)(from)(func(u client.Update, err error) bool {
					stop = u.Index == 4 || !yield(u, err)
					return !stop
				})
				yield(client.Update{}, failure)
			}
		}
	}
	f := &fake{snaps: map[string]client.Snapshot{"c": {Agent: "x"}}, updates: failing(conversation.ErrLostText)}
	s := serve(t, f, nil)
	_, elements := positions(s.listen("", never))
	require.Equal(t, []string{"m-0", "m-1", "call-model-1-0", "call-model-1-1", "m-4", "m-5"}, elements)
	for failure, name := range map[error]string{client.ErrRewound: "reload", errors.New("secret"): "end"} {
		f.updates = failing(failure)
		all := s.listen("", never)
		require.Equal(t, name, all[len(all)-1].name)
		require.NotContains(t, fmt.Sprint(all), "secret")
	}
}

// The status, open calls, and the text of a running model call come as they change, and only then.
func TestWhatIsSoNow(t *testing.T) {
	status := func(s client.Status, open ...agent.Call) client.Update {
		return client.Update{Progress: client.Progress{Status: s, Snapshot: &client.Snapshot{}, Open: open}}
	}
	says := func(text string, said, attempt int) client.Update {
		u := status(client.Running)
		u.PartialText = &client.PartialText{Key: "model-1", Text: text, Said: said, Attempt: attempt}
		return u
	}
	waits := agent.Call{Key: "tool-1", Model: "model-1", Name: "pay", Arguments: `{"euros":1}`, Wait: agent.CallWait{For: agent.WaitsForApproval}}
	runs := waits
	runs.Wait, runs.Decider = agent.CallWait{}, &agent.Decider{Actor: agent.Actor{By: "ann"}}
	text := agent.Call{Key: "text-0123456789abcdef0123456789abcdef", Name: "guard", Arguments: `{"kind":"answer","text":"?"}`, Wait: agent.CallWait{For: agent.WaitsForApproval}}
	var list []client.Update
	f := &fake{snaps: map[string]client.Snapshot{"c": {Agent: "x"}}, updates: func(int) iter.Seq2[client.Update, error] {
		return func(yield func(client.Update, error) bool) {
			for _, u := range append(list, status(client.Completed)) {
				if !yield(u, nil) {
					return
				}
			}
		}
	}}
	s := serve(t, f, nil)
	get := func(updates ...client.Update) (told []string) {
		list = updates
		for _, e := range s.listen("", never) {
			switch e.name {
			case "block":
				told = append(told, e.data["id"].(string))
			case "live":
				told = append(told, fmt.Sprint(e.data["reset"], e.data["text"]))
			case "waits":
				told = append(told, fmt.Sprint(e.data["ids"]))
			default:
				told = append(told, e.name)
			}
		}
		return told
	}
	require.Equal(t, []string{"[]", "status-line", "status-line", "end"}, get(status(client.Running), status(client.Running)))
	require.Equal(t, []string{"call-model-1-0", "[]", "status-line", "call-model-1-0", "status-line", "status-line", "end"},
		get(status(client.Waiting, waits), status(client.Waiting, waits), status(client.Running, runs)))
	require.Equal(t, []string{"wait-" + string(text.Key), "[wait-" + string(text.Key) + "]", "status-line", "[]", "status-line", "end"}, get(status(client.Waiting, text)))
	require.Equal(t, []string{"trueab", "[]", "status-line", "falsecd", "false\\u202e", "true… yz", "truenew", "true", "status-line", "end"},
		get(says("ab", 2, 1), says("abcd", 4, 1), says("abcd", 4, 1), says("bcd\u202e", 7, 1), says("yz", 90, 1), says("new", 3, 2)))
}

// What the calls of sub-agents wait for is on the page of the parent, and comes there live.
func TestWaitsOfSubAgentsAreOnThePageOfTheParent(t *testing.T) {
	f := &fake{
		snaps:   map[string]client.Snapshot{"c": {Agent: "x", Status: client.Waiting, ChildCount: 1, Children: []client.Child{{Status: client.Running}}}},
		entries: []client.Entry{{ID: "c/clerk", Parent: "c", Status: client.Running}},
		inbox: []client.Waits{
			{AgentID: "c/clerk", Agent: "clerk", Call: agent.Call{Key: "tool-1", Name: "pay", Arguments: `{"euros":1}`, Wait: agent.CallWait{For: agent.WaitsForApproval}}},
		},
	}
	_, page, _ := serve(t, f, nil).get("/c/c")
	form := `action="/c/c%2Fclerk/decide"`
	require.Contains(t, page, form)

	out := httptest.NewRecorder()
	s := &stream{to: out, control: http.NewResponseController(out), writer: &writer{id: "c"}, sent: map[string]string{}}
	looks := (&handler{Options: Options{Log: slog.Default()}, agents: f}).look(t.Context(), Caller{SeesAll: true}, "c")
	s.show(looks)
	s.show(looks)
	told := out.Body.String()
	require.Equal(t, 1, strings.Count(told, "wait-tool-1\"]"))
	require.Equal(t, 1, strings.Count(told, "c%2Fclerk/decide"))
	require.Contains(t, told, "event: waits")
	require.True(t, s.busy)
	out.Body.Reset()
	s.show(looked{tree: []*node{{Status: "completed"}}})
	require.Contains(t, out.Body.String(), `{"ids":[]}`)
	require.False(t, s.busy)
}
