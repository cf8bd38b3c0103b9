package page

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reagent-dev/reagent/gateway/access"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// attacks are texts that try to become a script, a form, a style, or a request to elsewhere.
var attacks = []string{
	`<script>evil()</script>`, `"><img src=x onerror=evil()>`, `'><svg/onload=evil()>`, `<iframe srcdoc="<script>evil()</script>">`,
	`[click](javascript:evil())`, `[click](JaVaScRiPt&colon;evil())`, `<javascript:evil()>`, `[click](data:text/html,<script>evil()</script>)`,
	`![pixel](https://elsewhere.example/pixel.png)`, `![x](x" onerror="evil())`, "```\"><script>evil()</script>\nx\n```", `</textarea><script>evil()</script>`,
	`</details></article></main><script>evil()</script>`, `<a href="javascript:evil()">x</a>`, `<form action=https://elsewhere.example><input name=key></form>`,
	`<style>@import url(https://elsewhere.example)</style>`, `<base href="https://elsewhere.example/">`, `<meta http-equiv=refresh content="0;url=https://elsewhere.example">`,
	`{{.Token}} {{printf "%s" .}}`, "</p><p style=\"position:fixed\" onclick=evil()>", `&#x202e;&lt;script&gt;`, "\u202e<script>\u2066", `<!--><script>evil()</script>-->`,
	`<a id="status-line" name="source">`, `[a]: javascript:evil()` + "\n\n[a]", `<x onclick=evil()>`, "a\u0000b\u0085c", `\"><script>evil()</script>`, `<link rel=stylesheet href=//elsewhere.example>`,
}

// elements are those of the page's own templates and of Markdown.
var elements = strings.Fields(`html head meta title link script body a header nav span form button main div h1 h2 h3 h4 h5 h6 p input label select option textarea ul ol li
	details summary article strong em del code pre blockquote br hr table thead tbody tr th td time section b img fieldset legend`)

// harmless asserts that a page has no element and no attribute that its templates do not have, and no address elsewhere but in links.
func harmless(t *testing.T, page string) {
	t.Helper()
	visible := func(text string) { require.False(t, strings.ContainsAny(text, "\u202e\u2066\u0000\u0085"), "%q", text) }
	scripts, bases := 0, 0
	z := html.NewTokenizer(strings.NewReader(page))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		token := z.Token()
		if kind == html.TextToken {
			visible(token.Data)
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		require.Contains(t, elements, token.Data, "%s", token)
		at := map[string]string{}
		for _, a := range token.Attr {
			require.NotContains(t, at, a.Key, "%s", token)
			at[a.Key] = a.Val
			if a.Key != "value" && a.Key != "href" && a.Key != "action" {
				visible(a.Val)
			}
			require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" || a.Key == "formaction", "%s", token)
		}
		switch token.Data {
		case "script":
			scripts++
			require.Equal(t, "/assets/"+scriptName, at["src"])
		case "link":
			require.Contains(t, []string{"data:,", "/assets/" + styleName}, at["href"])
		case "base":
			bases++
		case "meta":
			require.NotContains(t, at, "http-equiv")
		case "form":
			require.True(t, strings.HasPrefix(at["action"], "/") && !strings.HasPrefix(at["action"], "//"), "%s", token)
		case "img":
			require.True(t, strings.HasPrefix(at["src"], "data:image/png;base64,"), "%s", token)
		case "a":
			to, err := url.Parse(at["href"])
			require.NoError(t, err)
			require.Contains(t, []string{"", "http", "https", "mailto"}, to.Scheme, "%s", token)
			if to.Host != "" {
				require.Contains(t, at["rel"], "noreferrer", "%s", token)
			}
		}
	}
	require.LessOrEqual(t, scripts, 1)
	require.Zero(t, bases)
}

// hostile returns a conversation in which a text stands everywhere.
func hostile(text string) client.Snapshot {
	arguments := fmt.Sprintf(`{"path":%q,"old":%q,"new":"x"}`, text, text)
	by := &agent.Decider{Actor: agent.Actor{By: text}, Denied: true}
	waits := func(c agent.Call, f agent.WaitsFor) agent.Call {
		c.Wait.For = f
		return c
	}
	return client.Snapshot{
		Agent: text, Task: text, Failure: text, Stopped: text, Status: client.Waiting, Count: 8, ChildCount: 1,
		Metadata: agent.Metadata{access.OwnerKey: ann.Name},
		Messages: []agent.Message{
			{Key: "m1", Sender: &agent.Actor{By: text}, Message: llm.Message{Role: llm.User, Content: text, Parts: []llm.Part{
				{URL: text}, {URL: "https://elsewhere.example/x.png"}, {URL: "data:image/svg+xml;base64,PHN2Zz4="}, {URL: "data:image/png;base64,AAAA"},
			}}},
			{Key: "model-1", Message: llm.Message{Role: llm.Assistant, Content: text, Reasoning: text, ToolCalls: []llm.ToolCall{{ID: text, Name: text, Arguments: arguments}, {Name: "shell", Arguments: text}}}},
			{Key: "tool-1", Decider: by, Result: agent.ResultKind(text), Message: llm.Message{Role: llm.Tool, Content: text}},
			{Key: "tool-2", Message: llm.Message{Role: llm.Tool, Content: text}},
			{Key: "late_result-1", Message: llm.Message{Role: llm.User, Content: text}},
			{Notice: true, Message: llm.Message{Role: llm.User, Content: text}},
			{Key: "model-2", Model: text, FinishReason: text, Verdicts: []agent.GivenVerdict{{Guardrail: text, Action: agent.VerdictAction(text), Reason: text, Decider: by}}, Message: llm.Message{Role: llm.Assistant, Content: text}},
			{Key: "model-3", Message: llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{Name: text, Arguments: arguments}, {Name: "ask_user"}, {Name: text}}}},
		},
		Pending: []agent.Call{
			waits(agent.Call{Key: "tool-3", Model: "model-3", Name: text, Arguments: arguments}, agent.WaitsForApproval),
			waits(agent.Call{Key: "tool-4", Model: "model-3", Position: 1, Name: "ask_user", Arguments: fmt.Sprintf(`{"question":%q,"choices":[%q]}`, text, text)}, agent.WaitsForAnswer),
			waits(agent.Call{Key: agent.Key(text), Model: "model-3", Position: 2, Name: text, Arguments: text}, agent.WaitsForResult),
			waits(agent.Call{Key: "text-0123456789abcdef0123456789abcdef", Name: text, Arguments: fmt.Sprintf(`{"kind":"answer","text":%q,"reason":%q}`, text, text)}, agent.WaitsForApproval),
		},
		Queue:    []agent.QueuedMessage{{Text: text}},
		Children: []client.Child{{ID: text, Agent: text, Status: client.Running}},
	}
}

// Nothing that a model, a tool, a person or a program has written is more than text on the page: not in a message, an argument, a result, a
// reason, and not as the name of an agent, a tool or a file.
func TestAttackTextIsTextEverywhere(t *testing.T) {
	for _, text := range attacks {
		t.Run(text, func(t *testing.T) {
			snap := hostile(text)
			f := &fake{snaps: map[string]client.Snapshot{text: snap, "c": snap}}
			f.inbox = []client.Waits{{AgentID: "c", Agent: text, Call: snap.Pending[0]}, {AgentID: text, Agent: text, Call: snap.Pending[1]}}
			f.entries = []client.Entry{{ID: text, Agent: text, Task: text, Status: client.Running, Metadata: snap.Metadata}, {ID: text + "/child", Parent: text, Task: text, Status: client.Running}}
			s := serve(t, f, &Caller{Name: ann.Name, ProvedBy: text, SeesAll: true})
			for _, path := range []string{"/", "/inbox", conversationPath("c"), conversationPath(text), conversationPath(text + "no")} {
				status, page, headers := s.get(path)
				require.Contains(t, []int{http.StatusOK, http.StatusNotFound}, status, path)
				require.Contains(t, headers.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")
				harmless(t, page)
			}
			status, body, headers := s.get("/c/c/text/0")
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, "text/plain; charset=utf-8", headers.Get("Content-Type"))
			require.Equal(t, "nosniff", headers.Get("X-Content-Type-Options"))
			require.NotEmpty(t, body)
		})
	}
}

// Markdown that is no attack stays what it is.
func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"# Title\n\nsome **bold** `code`":      "<h3>Title</h3>\n<p>some <strong>bold</strong> <code>code</code></p>\n",
		"a <b>tag</b>\n\n<div>\nblock\n</div>": "<p>a &lt;b&gt;tag&lt;/b&gt;</p>\n<p>&lt;div&gt;\nblock\n&lt;/div&gt;</p>\n",
		"```go\nx := 1 < 2\n```":               "<pre><code class=\"language-go\">x := 1 &lt; 2\n</code></pre>\n",
		"[site](https://example.com)":          `<p><a href="https://example.com" rel="nofollow noreferrer noopener" target="_blank">site</a></p>` + "\n",
		"![pixel](https://example.com/x.png)":  `<p><a href="https://example.com/x.png" rel="nofollow noreferrer noopener" target="_blank">🖼 pixel</a></p>` + "\n",
		"[inside](/c/other)":                   `<p>inside</p>` + "\n",
		"| a |\n|---|\n| b |":                  "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n",
		"invoice\u202efdp.exe and &#x202e;":    "<p>invoice\\u202efdp.exe and \\u202e</p>\n",
		strings.Repeat("<", maxMarkdown+1):     "<pre>" + strings.Repeat("&lt;", maxMarkdown+1) + "</pre>",
	} {
		require.Equal(t, want, string(markdown(text)), "%.50q", text)
	}
}

// A conversation of somebody else, and one that does not exist, look the same, whatever is asked.
func TestAttackOtherOwnersConversationIsNotThere(t *testing.T) {
	f := &fake{snaps: map[string]client.Snapshot{
		"anns": {Agent: "x", Metadata: agent.Metadata{access.OwnerKey: ann.Name}}, "bens": {Agent: "x", Metadata: agent.Metadata{access.OwnerKey: "key:ben"}}, "nobodys": {Agent: "x"},
	}}
	for _, owner := range []string{"anns", "bens", "nobodys"} {
		f.entries = append(f.entries, client.Entry{ID: owner, Agent: "x", Task: "task of " + owner, Metadata: f.snaps[owner].Metadata})
		f.inbox = append(f.inbox, client.Waits{AgentID: owner, Agent: "x", Call: agent.Call{Name: "tool_of_" + owner, Wait: agent.CallWait{For: agent.WaitsForApproval}}})
	}
	s := serve(t, f, &ann)
	for _, path := range []string{"/", "/inbox"} {
		_, page, _ := s.get(path)
		require.Contains(t, page, "anns")
		require.NotContains(t, page, "bens")
		require.NotContains(t, page, "nobodys")
	}
	ask := func(id string) (answers []string) {
		for _, path := range []string{"", "/events", "/text/0"} {
			status, page, _ := s.get("/c/" + id + path)
			answers = append(answers, fmt.Sprint(status, page))
		}
		form := url.Values{"text": {"x"}, "message_id": {"m"}, "action": {"approve"}, "key": {"tool-1"}, "at": {"1"}, "token": {newToken()}}
		for _, path := range []string{"/message", "/decide", "/interrupt", "/fork"} {
			status, page, _ := s.do(http.MethodPost, "/c/"+id+path, form)
			answers = append(answers, fmt.Sprint(status, page))
		}
		return answers
	}
	missing := ask("missing")
	require.Equal(t, missing, ask("bens"))
	require.Equal(t, missing, ask("nobodys"))
	require.True(t, slices.ContainsFunc(missing, func(a string) bool { return strings.HasPrefix(a, "404") }))
	require.Empty(t, f.done)
}

// A page of another origin changes nothing, and nothing changes by a GET.
func TestAttackOtherOriginChangesNothing(t *testing.T) {
	f := &fake{snaps: map[string]client.Snapshot{"c": {Agent: "x", Count: 1}}}
	s := serve(t, f, nil)
	form := url.Values{"text": {"x"}, "agent": {"x"}, "message_id": {"m"}, "action": {"approve"}, "key": {"tool-1"}, "at": {"1"}, "token": {newToken()}}
	for _, path := range []string{"/start", "/c/c/message", "/c/c/decide", "/c/c/interrupt", "/c/c/fork"} {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://elsewhere.example"}, {"Origin", "null"}} {
			status, _, _ := s.do(http.MethodPost, path, form, headers...)
			require.Equal(t, http.StatusForbidden, status, path)
		}
		status, _, _ := s.get(path)
		require.Equal(t, http.StatusMethodNotAllowed, status, path)
		require.Empty(t, f.done)
		status, _, _ = s.do(http.MethodPost, path, form, "Sec-Fetch-Site", "same-origin")
		require.Equal(t, http.StatusSeeOther, status, path)
		require.Len(t, f.done, 1, path)
		f.done = nil
	}
}
