package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/reagent-dev/reagent/gateway/access"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/llm"
)

// A conversation has the calls with what they do, what they wait for, and who has decided; and forks, cost and links.
func TestConversation(t *testing.T) {
	snap := client.Snapshot{
		Agent: "x", Task: "Mend it", Status: client.Waiting, WaitsFor: client.WaitsForApproval, Count: 6, ChildCount: 1, Metadata: agent.Metadata{access.OwnerKey: ann.Name},
		Spent: &agent.Spending{Usage: llm.Usage{InputTokens: 120, OutputTokens: 30}, Cost: agent.Dollar / 2}, Usage: agent.Usage{ModelCalls: 2, ToolCalls: 1},
		Definition: &agent.Definition{Tools: []agent.Tool{{Name: "ask_clerk", Agent: "clerk"}}},
		Messages: []agent.Message{
			{Key: "m1", Sender: &agent.Actor{By: "ann"}, Message: llm.Message{Role: llm.User, Content: "Mend it"}},
			{Key: "model-1", Message: llm.Message{Role: llm.Assistant, Content: "I *look*.", ToolCalls: []llm.ToolCall{{Name: "ask_clerk", Arguments: `{"task":"look"}`}}}},
			{Key: "tool-1", Child: "agent-0123456789abcdef0123456789abcdef", Message: llm.Message{Role: llm.Tool, Content: "found"}},
			{Key: "model-2", Model: "gpt-x", Message: llm.Message{Role: llm.Assistant, Content: "Found."}, Spent: agent.Spending{Usage: llm.Usage{InputTokens: 100, OutputTokens: 20}, Cost: agent.Dollar / 4}},
			{Key: "m2", Message: llm.Message{Role: llm.User, Content: "Go on"}},
			{Key: "model-3", Message: llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{Name: "edit_file", Arguments: "{}"}}}},
		},
		Pending: []agent.Call{{Key: "tool-2", Model: "model-3", Name: "edit_file", Arguments: `{"path":"a.go","old":"one\n","new":"two\n"}`, Wait: agent.CallWait{For: agent.WaitsForApproval}}},
	}
	f := &fake{snaps: map[string]client.Snapshot{"c": snap}, entries: []client.Entry{{ID: "c/clerk-1", Parent: "c", Task: "look", Status: client.Completed}, {ID: "c/clerk-1/deep", Parent: "c/clerk-1", Status: client.Running}}}
	s := serve(t, f, &ann)
	_, page, headers := s.get("/c/c")
	require.Contains(t, headers.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	flat := strings.Join(strings.Fields(page), " ")
	for _, want := range []string{
		"<p>I <em>look</em>.</p>", `<pre dir="auto">found</pre>`, `<a href="/c/c%2Fclerk-0123456789abcdef">c/clerk-0123456789abcdef</a>`,
		"gpt-x · 100 tokens in, 20 out, $0.2500", "2 model calls, 1 tool call, 120 tokens in, 30 out, $0.5000", "Waits for an approval",
		`<span class="removed"><b> - </b>one </span><span class="added"><b> &#43; </b>two </span>`, `<input type="hidden" name="key" value="tool-2">`,
		`<a href="http://temporal:8233/namespaces/default/workflows/c"`, `<a href="/c/c%2Fclerk-1">clerk-1</a>`, `<a href="/c/c%2Fclerk-1%2Fdeep">deep</a>`, `data-after="5.5.1"`, "You may not decide on this.",
	} {
		if strings.HasPrefix(want, "You may not") {
			require.NotContains(t, flat, want)
			continue
		}
		require.Contains(t, flat, want)
	}
	c := ann
	c.May = func(scope, _ string) bool { return scope == scopeRead }
	_, page, _ = serve(t, f, &c).get("/c/c")
	require.Contains(t, page, "You may not decide on this.")
	require.NotContains(t, page, `<form`)
}

// Of a long conversation, a page has 100 messages. Together, the pages have each message once.
func TestLongConversationHasPages(t *testing.T) {
	var all []agent.Message
	for i := range 1000 {
		m := agent.Message{Key: agent.Key(fmt.Sprint("m", i)), Message: llm.Message{Role: llm.User, Content: fmt.Sprintf("message %d.", i)}}
		switch i % 4 {
		case 1:
			m.Role, m.Key, m.ToolCalls = llm.Assistant, agent.Key(fmt.Sprint("model-", i)), []llm.ToolCall{{Name: "look"}}
		case 2:
			m.Role = llm.Tool
		case 3:
			m.Role = llm.Assistant
		}
		all = append(all, m)
	}
	f := &fake{snaps: map[string]client.Snapshot{"c": {Agent: "x", Status: client.Completed, Count: 1000, First: 500, Messages: all[500:]}}, earlier: all[:500]}
	s := serve(t, f, nil)
	seen := map[string]int{}
	pages := 0
	earlier := regexp.MustCompile(`<a href="([^"]*)" rel="prev">`)
	for path := "/c/c"; path != ""; pages++ {
		_, page, _ := s.get(path)
		for _, m := range regexp.MustCompile(`message \d+\.`).FindAllString(regexp.MustCompile(`(?s)<textarea.*?</textarea>`).ReplaceAllString(page, ""), -1) {
			seen[m]++
		}
		path = ""
		if m := earlier.FindStringSubmatch(page); m != nil {
			path = m[1]
		}
	}
	require.Len(t, seen, 1000)
	for m, n := range seen {
		require.Equal(t, 1, n, m)
	}
	require.LessOrEqual(t, pages, 11)
	status, _, _ := s.get("/c/c?before=x")
	require.Equal(t, http.StatusBadRequest, status)
}

// The list is bounded, however many conversations and agents of others there are, and its pages have each conversation once.
func TestListHasPages(t *testing.T) {
	f := &fake{}
	for i := range 2*maxScanned + 10 {
		f.entries = append(f.entries, client.Entry{ID: fmt.Sprint("c", i), Agent: "x", Status: client.Running})
	}
	f.entries[3].Metadata = agent.Metadata{access.OwnerKey: ann.Name}
	f.entries[4].Metadata, f.entries[4].Parent = f.entries[3].Metadata, "c3"
	_, page, _ := serve(t, f, &ann).get("/")
	require.Equal(t, 1, strings.Count(page, `<a href="/c/`))
	require.Contains(t, page, `rel="next"`)
	_, page, _ = serve(t, f, nil).get("/")
	require.Equal(t, pageRows, strings.Count(page, `<a href="/c/`))
	for _, after := range []string{"x", "s", "e1x", "s12345"} {
		status, _, _ := serve(t, f, nil).get("/?after=" + after)
		require.Equal(t, map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[after == "s12345"], status, after)
	}
	for _, e := range []client.Entry{{Started: testTime}, {Started: testTime, Ended: testTime.Add(1)}} {
		back, err := cursor(cursorOf(e))
		require.NoError(t, err)
		require.True(t, back.Ended.Equal(e.Ended) || back.Started.Equal(e.Started))
	}
}

// A form does what it says, in the name of the caller. A form that is sent twice does the same with the same IDs, so it has effect once.
func TestForms(t *testing.T) {
	snap := client.Snapshot{Agent: "x", Status: client.Waiting, Count: 4, Metadata: agent.Metadata{access.OwnerKey: ann.Name}}
	f := &fake{snaps: map[string]client.Snapshot{"c": snap}}
	s := serve(t, f, &ann)
	token := strings.Repeat("0", 32)
	post := func(path string, form url.Values, want int) []string {
		t.Helper()
		f.done = nil
		for range 2 {
			status, page, _ := s.do(http.MethodPost, path, form)
			require.Equal(t, want, status, page)
		}
		if len(f.done) == 2 {
			require.Equal(t, f.done[0], f.done[1])
			return f.done[:1]
		}
		return f.done
	}
	ok, bad := http.StatusSeeOther, http.StatusBadRequest
	require.Equal(t, []string{`start x-0000000000000000 x "Hi\nall" page-` + token + ` by "key:ann" map[gateway.owner:key:ann]`},
		post("/start", url.Values{"agent": {"x"}, "text": {"Hi\r\nall"}, "token": {token}}, ok))
	require.Empty(t, post("/start", url.Values{"agent": {"x"}, "text": {" "}, "token": {token}}, bad))
	require.Empty(t, post("/start", url.Values{"agent": {"z"}, "text": {"Hi"}, "token": {token}}, bad))
	require.Empty(t, post("/start", url.Values{"agent": {"x"}, "text": {"Hi"}, "token": {"../../other"}}, bad))
	require.Equal(t, []string{`send c m1 "Hi" by "key:ann" steer true automatic false`}, post("/c/c/message", url.Values{"message_id": {"m1"}, "text": {"Hi"}, "steer": {"1"}}, ok))
	require.Equal(t, []string{`interrupt c by "key:ann"`}, post("/c/c/interrupt", nil, ok))
	decide := func(form url.Values, want int) []string {
		form["key"] = []string{"tool-1"}
		return post("/c/c/decide", form, want)
	}
	require.Equal(t, []string{`decide c tool-1 approve true reason "" remember "" result "" by "key:ann"`}, decide(url.Values{"action": {"approve"}, "reason": {"x"}}, ok))
	require.Equal(t, []string{`decide c tool-1 approve true reason "" remember "tool" result "" by "key:ann"`}, decide(url.Values{"action": {"approve"}, "remember": {"tool"}}, ok))
	require.Equal(t, []string{`decide c tool-1 approve false reason "no" remember "" result "" by "key:ann"`}, decide(url.Values{"action": {"deny"}, "reason": {"no"}}, ok))
	require.Equal(t, []string{`decide c tool-1 approve false reason "" remember "" result "red" by "key:ann"`}, decide(url.Values{"action": {"answer"}, "choice": {"red"}, "text": {""}}, ok))
	require.Equal(t, []string{`decide c tool-1 approve false reason "" remember "" result "blue" by "key:ann"`}, decide(url.Values{"action": {"result"}, "choice": {"red"}, "text": {"blue"}}, ok))
	require.Empty(t, decide(url.Values{"action": {"answer"}}, bad))
	require.Empty(t, decide(url.Values{}, bad))

	plain := post("/c/c/fork", url.Values{"token": {token}, "at": {"2"}, "text": {"ignored"}}, ok)
	require.Equal(t, []string{`fork c at 2 to x-` + forkID(token, 2, "") + ` with "" by "key:ann"`}, plain)
	edited := post("/c/c/fork", url.Values{"token": {token}, "at": {"2"}, "text": {"Hi"}, "edit": {"1"}}, ok)
	require.Equal(t, []string{`fork c at 2 to x-` + forkID(token, 2, "Hi") + ` with "Hi" by "key:ann"`}, edited)
	require.NotEqual(t, forkID(token, 2, ""), forkID(token, 2, "Hi"))
	require.Equal(t, []string{`start x-` + forkID(token, 0, "Hi") + ` x "Hi" page-` + token + ` by "key:ann" map[gateway.owner:key:ann]`},
		post("/c/c/fork", url.Values{"token": {token}, "at": {"0"}, "text": {"Hi"}, "edit": {"1"}}, ok), "an edit of the first message leaves nothing to keep")
	require.Empty(t, post("/c/c/fork", url.Values{"token": {token}, "at": {"0"}}, bad))
	require.Empty(t, post("/c/c/fork", url.Values{"token": {token}, "at": {"5"}}, bad))

	_, body, _ := s.do(http.MethodPost, "/c/c/message", url.Values{"message_id": {"m1"}, "text": {"Hi"}}, "Accept", "application/json")
	var answer map[string]string
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	require.Regexp(t, "^page-[0-9a-f]{32}$", answer["message_id"])
}

// A caller may do only what its scopes permit. A message of somebody who may not answer questions never answers one.
func TestAttackScopesHold(t *testing.T) {
	posts := map[string]string{"/start": scopeTalk, "/c/c/message": scopeTalk, "/c/c/interrupt": scopeTalk, "/c/c/fork": scopeTalk, "/c/c/decide": scopeApprove}
	form := url.Values{"text": {"x"}, "agent": {"x"}, "message_id": {"m"}, "action": {"approve"}, "key": {"tool-1"}, "at": {"1"}, "token": {newToken()}}
	for _, scope := range []string{"", scopeTalk, scopeRead, scopeApprove} {
		f := &fake{snaps: map[string]client.Snapshot{"c": {Agent: "x", Count: 1, Metadata: agent.Metadata{access.OwnerKey: ann.Name}}}}
		f.entries = []client.Entry{{ID: "c", Agent: "x", Metadata: f.snaps["c"].Metadata}}
		c := ann
		c.May = func(s, name string) bool { return s == scope && name == "x" }
		s := serve(t, f, &c)
		for path, needs := range posts {
			f.done = nil
			status, _, _ := s.do(http.MethodPost, path, form)
			require.Equal(t, needs == scope, len(f.done) == 1, "%s with %q", path, scope)
			require.Equal(t, needs == scope, status == http.StatusSeeOther)
			if path == "/c/c/message" && needs == scope {
				require.Contains(t, f.done[0], "automatic true")
			}
		}
		status, _, _ := s.get("/c/c")
		require.Equal(t, scope == scopeRead, status == http.StatusOK)
		_, page, _ := s.get("/")
		require.Equal(t, scope == scopeRead, strings.Contains(page, "/c/c"))
		require.Equal(t, scope == scopeTalk, strings.Contains(page, "<form"))
	}
}

// A problem that the caller can solve is told. All others say nothing about the inside.
func TestProblems(t *testing.T) {
	f := &fake{snaps: map[string]client.Snapshot{"c": {Agent: "x"}}}
	s := serve(t, f, nil)
	for _, c := range []struct {
		err    error
		status int
		says   string
	}{
		{client.ErrNoWorker, 503, "No worker answers"},
		{fmt.Errorf("agent %q: %w: <too late>", "c", client.ErrRefused), 409, "too late"},
		{&client.ClosedError{Operation: "message", ID: "c", Status: client.Completed}, 409, "Fork"},
		{client.ErrNotFound, 404, "no such conversation"},
		{fmt.Errorf("dial tcp 10.0.0.7:7233: secret"), 500, "Something has failed"},
	} {
		f.refuses = c.err
		status, page, _ := s.do(http.MethodPost, "/c/c/interrupt", nil)
		require.Equal(t, c.status, status)
		require.Contains(t, page, c.says)
		require.NotContains(t, page, "secret")
		harmless(t, page)
		status, body, _ := s.do(http.MethodPost, "/c/c/interrupt", nil, "Accept", "application/json")
		require.Equal(t, c.status, status)
		require.True(t, json.Valid([]byte(body)))
	}
}

func TestAssetsStayAsTheyAre(t *testing.T) {
	s := serve(t, &fake{}, nil)
	for name, kind := range map[string]string{styleName: "text/css", scriptName: "text/javascript"} {
		status, body, headers := s.get("/assets/" + name)
		require.Equal(t, http.StatusOK, status)
		require.NotEmpty(t, body)
		require.Contains(t, headers.Get("Content-Type"), kind)
		require.Contains(t, headers.Get("Cache-Control"), "immutable")
	}
	status, _, _ := s.get("/assets/page.go")
	require.Equal(t, http.StatusNotFound, status)
}

func TestPosition(t *testing.T) {
	for _, p := range []position{before(0), before(7), {conversation.Position{Message: 9, Number: 2}, 7}} {
		back, err := parsePosition(p.String())
		require.NoError(t, err)
		require.Equal(t, p, back)
	}
	for _, text := range []string{"x", "1.2", "-1.0.0", "3.2.0", "1.2.-2", "1.2.3.4", "1.2.3 ", "01.2.3"} {
		_, err := parsePosition(text)
		require.Error(t, err, text)
	}
}
