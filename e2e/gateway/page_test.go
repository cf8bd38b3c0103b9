package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/gateway/access"
	"github.com/reagent-dev/reagent/gateway/page"
	printed "github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/internal/testkit/webui"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// screenshotEnv is the name of an environment variable with the path of a folder. If the variable is set, [TestPageInABrowser] writes
// pictures of the page to this folder. Two of them are in docs/images:
//
//	REAGENT_PAGE_SCREENSHOTS=/tmp/pictures go test ./e2e/gateway -run Page -count=1
const screenshotEnv = "REAGENT_PAGE_SCREENSHOTS"

const (
	story = "# Plums\n\nThe quick brown fox jumps over the lazy dog, and picks *ripe* plums."
	evil  = `<script>window.evil=1</script><img src=x onerror="window.evil=1">`
	// ann owns all conversations of the test, so that those of other tests are in no list.
	ann  = "ann@example.com"
	edit = `{"path":"list.txt","old":"one\ntwo\nthree\n","new":"one\n2\nthree\n"}`
)

// talk is the model. It answers to the last message from outside.
func (s *stage) talk(ctx context.Context, req llm.Request) (llm.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	asked := ""
	for _, m := range req.Messages {
		if m.Role == llm.User {
			asked = m.Content
		}
	}
	result := last.Role == llm.Tool
	switch {
	case asked == "Mend the list." && !result:
		return llmtest.Call(llmtest.ToolCall("1", "edit_file", edit)), nil
	case asked == "Which colour?" && !result:
		return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Which colour do you like?","choices":["red","blue"]}`)), nil
	case asked == "Ask the clerk." && !result:
		return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"Count the plums."}`)), nil
	case asked == "Be evil." && !result:
		return llmtest.Call(llmtest.ToolCall("1", "edit_file", fmt.Sprintf(`{"path":%q,"old":%q,"new":"x"}`, evil, evil)), llmtest.ToolCall("2", evil, `{}`)), nil
	case asked == "Take your time.":
		return llmtest.Say("That was long."), s.slow.Pass(ctx)
	case asked == "Tell a story.":
		return llmtest.Say(story), nil
	case asked == "Be evil.":
		return llmtest.Say(evil + "\n\n" + evil + " [x](javascript:window.evil=1) ![x](https://elsewhere.example/x.png)\n\n" + last.Content), nil
	case result:
		return llmtest.Say("The result is: " + last.Content), nil
	}
	return llmtest.Say("You said: " + asked), nil
}

// stage is the page in a browser, with a worker behind it.
type stage struct {
	t       *testing.T
	w       *world.World
	browser *webui.Browser
	url     string
	text    string
	// goOn lets the story go on after its first words.
	goOn func()
	// slow holds a model call until somebody interrupts it.
	slow *world.Gate
}

func newStage(t *testing.T) *stage {
	browser, err := webui.Open(t.Context())
	if errors.Is(err, webui.ErrNoBrowser) {
		t.Skip(err)
	}
	require.NoError(t, err)
	held := make(chan struct{})
	s := &stage{t: t, browser: browser, slow: world.NewGate(), goOn: sync.OnceFunc(func() { close(held) })}
	tools := world.NewToolServer(t)
	tools.Add("edit_file", nil, func(_ context.Context, e world.Effect) (string, error) {
		if strings.Contains(e.Arguments, "script") {
			return evil, nil
		}
		return "2 replaces two", nil
	})
	s.w = world.New(t, s.talk, tools, `    approval: {default: never, far.edit_file: always}
    tools: [far.*, ask_user]
    agents: [clerk]
  clerk: {model: main, description: counts}
`, func(e *standin.Endpoint) {
		e.Pace = func(req llm.Request, event int) {
			if event == 4 && req.Messages[len(req.Messages)-1].Content == "Tell a story." {
				<-held
			}
		}
	})
	t.Cleanup(s.goOn)
	s.w.Worker()
	server := httptest.NewServer(page.New(page.Options{
		Client: s.w.Client, Caller: func(*http.Request) page.Caller { return page.Caller{Name: ann} },
		Agents: []page.Agent{{Name: "x", Description: "edits, asks and tells"}}, WebUI: world.Server.UIURL(),
	}))
	t.Cleanup(func() {
		browser.Close()
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL
	return s
}

func (s *stage) visit(path string) {
	s.t.Helper()
	require.NoError(s.t, s.browser.Visit(s.url+path))
}

// reads waits until the page shows all texts. White space makes no difference.
func (s *stage) reads(what string, texts ...string) {
	s.t.Helper()
	s.until(what, func() bool { return s.shows(texts) })
}

// finds loads a page again and again until it shows all texts, because Temporal's list of agents is out of date for a moment.
func (s *stage) finds(path, what string, texts ...string) {
	s.t.Helper()
	s.until(what, func() bool {
		s.visit(path)
		return s.shows(texts)
	})
}

func (s *stage) shows(texts []string) bool {
	s.t.Helper()
	text, err := s.browser.Text()
	require.NoError(s.t, err)
	s.text = strings.Join(strings.Fields(text), " ")
	return !slices.ContainsFunc(texts, func(want string) bool { return !strings.Contains(s.text, want) })
}

// until waits until a condition holds. If it does not, the test says what the page showed.
func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	done := false
	defer func() {
		if !done {
			s.t.Logf("%s; the page: %s", what, s.text)
		}
	}()
	world.Eventually(s.t, what, ok)
	done = true
}

func (s *stage) script(expression string) string {
	s.t.Helper()
	value, err := s.browser.Evaluate(expression)
	require.NoError(s.t, err)
	return value
}

// is waits until a JavaScript condition holds.
func (s *stage) is(what, condition string) {
	s.t.Helper()
	s.until(what, func() bool { return s.script("Boolean("+condition+")") == "true" })
}

func (s *stage) click(button string) {
	s.t.Helper()
	s.until("there is a button "+button, func() bool {
		clicked, err := s.browser.Click(button)
		require.NoError(s.t, err)
		return clicked
	})
}

// fill types a text into a field that a person has clicked.
func (s *stage) fill(field, text string) {
	s.t.Helper()
	s.is("there is a field "+field, fmt.Sprintf("document.querySelector(%q)", field))
	s.script(fmt.Sprintf("document.querySelector(%q).focus()", field))
	require.NoError(s.t, s.browser.Press(text, false))
}

// start starts a conversation with the form, and waits until its page is there. It returns the ID of the conversation.
func (s *stage) start(message string) (id string) {
	s.t.Helper()
	s.visit("/")
	s.fill("#text", message)
	s.click("Start")
	s.is("the conversation is there", "location.pathname.startsWith('/c/') && document.readyState == 'complete'")
	id, err := url.PathUnescape(strings.TrimPrefix(s.script("location.pathname"), "/c/"))
	require.NoError(s.t, err)
	return id
}

// tab presses the key Tab until a condition holds for the focused element `e`.
func (s *stage) tab(condition string) {
	s.t.Helper()
	s.until("the key Tab leads to "+condition, func() bool {
		if s.script("Boolean((e => "+condition+")(document.activeElement))") == "true" {
			return true
		}
		require.NoError(s.t, s.browser.Press("\t", false))
		return false
	})
}

func (s *stage) picture(name string) {
	folder := os.Getenv(screenshotEnv)
	if folder == "" {
		return
	}
	require.NoError(s.t, os.MkdirAll(folder, 0o755))
	require.NoError(s.t, s.browser.Screenshot(filepath.Join(folder, name+".png")))
}

// People do all on the page, in a real browser.
func TestPageInABrowser(t *testing.T) {
	s := newStage(t)
	for _, part := range []struct {
		name string
		do   func(*stage)
	}{
		{"LiveText", liveText}, {"Approval", approval}, {"Question", question}, {"Interrupt", interrupt}, {"EditAndFork", editAndFork},
		{"SubAgents", subAgents}, {"KeyboardOnly", keyboardOnly}, {"SmallScreen", smallScreen}, {"AttackTextRunsNoScript", attackText},
	} {
		t.Run(part.name, func(t *testing.T) {
			in := *s
			in.t = t
			part.do(&in)
		})
	}
}

// The text of a reply appears while the model writes it, and then as Markdown.
func liveText(s *stage) {
	s.start("Tell a story.")
	s.is("the first words are there", "document.getElementById('live')?.textContent.includes('Plums') && !document.querySelector('.reply h3')")
	s.picture("page-live")
	s.goOn()
	s.reads("the whole answer", "and picks ripe plums.", "Waits for your message")
	require.Equal(s.t, "ripe", s.script("document.querySelector('.reply em').textContent"))
	require.Equal(s.t, "true", s.script("document.getElementById('live').hidden"))
	s.fill("#text", "Thanks.")
	s.click("Send")
	s.reads("the next answer, on the same page", "You said: Thanks.")
	s.is("no message is in the queue", "document.querySelectorAll('.queued').length == 0")
	require.Empty(s.t, s.script("document.getElementById('text').value"))
}

// A person sees the difference that an edit makes, and approves it in place.
func approval(s *stage) {
	id := s.start("Mend the list.")
	s.reads("the edit", "edit_file", "waits for approval", "list.txt", "- two", "+ 2")
	s.script("window.stays = true")
	s.picture("page-approval")
	s.click("Approve")
	s.reads("the result", "The result is: 2 replaces two")
	require.Equal(s.t, "true", s.script("window.stays"), "the page was not left")
	require.Equal(s.t, "0", s.script("document.querySelectorAll('[data-wait]').length"))
	require.Len(s.t, s.w.Tools.Effects(), 1)
	s.visit("/c/" + url.PathEscape(id))
	s.reads("the same after a reload", "The result is: 2 replaces two", "edit_file", "done")

	id = s.start("Mend the list.")
	s.reads("the edit", "waits for approval")
	s.finds("/inbox", "the inbox", id, "edit_file", "- two", "+ 2")
	s.deny(id)
	s.until("the call is not in the inbox", func() bool {
		s.visit("/inbox")
		return !s.shows([]string{id})
	})
	require.Len(s.t, s.w.Tools.Effects(), 1)
	s.visit("/c/" + url.PathEscape(id))
	s.reads("the answer to the denial", "not today")
}

// deny denies the call of an agent in the inbox, with a reason.
func (s *stage) deny(id string) {
	s.t.Helper()
	form := fmt.Sprintf("form[action=%q] ", "/c/"+url.PathEscape(id)+"/decide")
	s.fill(form+"[name=reason]", "not today")
	s.script(fmt.Sprintf("document.querySelector(%q).click()", form+"[value=deny]"))
	s.reads("that the decision was sent", "Sent.")
}

func question(s *stage) {
	s.start("Which colour?")
	s.reads("the question", "Which colour do you like?", "blue")
	s.picture("page-question")
	s.script("document.querySelector('[value=blue]').click()")
	s.click("Answer")
	s.reads("the answer", "The result is: blue")
	s.start("Which colour?")
	s.fill(".decide [name=text]", "green")
	s.click("Answer")
	s.reads("the other answer", "The result is: green")
}

func interrupt(s *stage) {
	id := s.start("Take your time.")
	s.slow.Wait(s.t)
	s.is("the agent works", "document.body.dataset.status == 'running'")
	s.click("Interrupt")
	s.reads("that it has stopped", "Stopped; a message lets it go on")
	s.picture("page-interrupt")
	s.fill("#text", "Go on.")
	require.NoError(s.t, s.browser.Press("\r", true))
	s.reads("that it goes on", "You said: Go on.")
	by := map[printed.Act]string{}
	for _, line := range world.Objects[printed.AuditLine](s.w, "audit", id, "--json") {
		by[line.Act] = line.By
	}
	require.Equal(s.t, ann, by["interrupted"])
}

// A person edits an earlier message in a fork. The conversation stays as it is.
func editAndFork(s *stage) {
	id := s.start("First.")
	s.reads("the first answer", "You said: First.")
	s.fill("#text", "Second.")
	s.click("Send")
	s.reads("the second answer", "You said: Second.", "Waits for your message")
	s.script("document.querySelectorAll('.user .fork')[1].open = true")
	s.script("document.querySelectorAll('.user .fork')[1].querySelector('textarea').select()")
	require.NoError(s.t, s.browser.Press("Another.", false))
	s.script("[...document.querySelectorAll('.user .fork')[1].querySelectorAll('button')][1].click()")
	s.is("the fork is there", fmt.Sprintf("location.pathname != %q && location.pathname.startsWith('/c/')", "/c/"+url.PathEscape(id)))
	s.reads("the fork", "You said: First.", "You said: Another.")
	require.NotContains(s.t, s.text, "Second.")
	require.Equal(s.t, ann+","+ann, s.script("[...document.querySelectorAll('.user strong')].map(e => e.textContent)"))
	s.picture("page-fork")
	fork := strings.TrimPrefix(s.script("location.pathname"), "/c/")
	require.NotEqual(s.t, id, fork)
	s.visit("/c/" + url.PathEscape(id))
	s.reads("the conversation", "You said: Second.")
	require.NotContains(s.t, s.text, "Another.")
	s.finds("/", "the list", id, fork)
	s.picture("page-list")
}

func subAgents(s *stage) {
	id := s.start("Ask the clerk.")
	s.reads("the answer of the clerk", "The result is: You said: Count the plums.")
	s.until("the tree has the clerk", func() bool {
		s.visit("/c/" + url.PathEscape(id))
		return s.script("document.querySelectorAll('#tree li').length") == "1"
	})
	s.picture("page-tree")
	s.script("document.querySelector('#tree a').click()")
	s.reads("the clerk's own page", "Count the plums.", "Parent agent")
}

// All is done with the keyboard: to start, to approve, to answer.
func keyboardOnly(s *stage) {
	s.visit("/")
	require.NoError(s.t, s.browser.Press("\t", false))
	require.Equal(s.t, "Skip to the content", s.script("document.activeElement.textContent"))
	s.tab("e.id == 'text'")
	require.NoError(s.t, s.browser.Press("Mend the list.", false))
	s.tab("e.matches('button')")
	require.NoError(s.t, s.browser.Press("\r", false))
	s.reads("the edit", "waits for approval")
	s.tab("e.value == 'approve'")
	require.NotEqual(s.t, "none", s.script("getComputedStyle(document.activeElement).outlineStyle"), "the focus is visible")
	require.NoError(s.t, s.browser.Press("\r", false))
	s.reads("the result", "The result is: 2 replaces two")
	s.tab("e.id == 'text'")
	require.NoError(s.t, s.browser.Press("Which colour?", false))
	require.NoError(s.t, s.browser.Press("\r", true))
	s.reads("the question", "Which colour do you like?")
	s.tab("e.name == 'choice'")
	require.NoError(s.t, s.browser.Press(" ", false))
	s.tab("e.value == 'answer'")
	require.NoError(s.t, s.browser.Press("\r", false))
	s.reads("the answer", "The result is: red")
}

// On a screen of 360 pixels, no page is wider than the screen.
func smallScreen(s *stage) {
	require.NoError(s.t, s.browser.Resize(360, 740))
	defer func() { require.NoError(s.t, s.browser.Resize(webui.Width, webui.Height)) }()
	fits := func() {
		width, err := strconv.Atoi(s.script("document.documentElement.scrollWidth"))
		require.NoError(s.t, err)
		require.LessOrEqual(s.t, width, 360, s.script("location.href"))
	}
	id := s.start("Mend the list.")
	s.reads("the edit", "waits for approval", "+ 2")
	fits()
	s.picture("page-phone")
	s.finds("/inbox", "the inbox", id, "+ 2")
	fits()
	s.deny(id)
	s.start("A" + strings.Repeat("verylongword", 40))
	s.reads("the answer", "You said: Averylongword")
	s.script("document.querySelectorAll('details').forEach(d => { d.open = true })")
	fits()
	s.visit("/")
	fits()
}

// Texts and names of all kinds run no script, and load nothing from elsewhere.
func attackText(s *stage) {
	name := `"><img/src=x/onerror=window.evil=1>'` + uuid.NewString()
	_, err := s.w.Client.Start(s.t.Context(), client.StartOptions{ID: name, Agent: "x", Mode: agent.Chat, Message: "Be evil.", By: evil, Metadata: agent.Metadata{access.OwnerKey: ann}})
	require.NoError(s.t, err)
	s.visit("/c/" + url.PathEscape(name))
	s.reads("the edit", "waits for approval", "window.evil=1")
	harmless := func() {
		s.t.Helper()
		require.Equal(s.t, "undefined", s.script("typeof window.evil"))
		require.Equal(s.t, "1", s.script("document.querySelectorAll('script').length"))
		require.Equal(s.t, "0", s.script("document.querySelectorAll('img').length"))
	}
	harmless()
	s.finds("/inbox", "the inbox", name)
	harmless()
	s.visit("/c/" + url.PathEscape(name))
	s.click("Approve")
	s.reads("the answer, which came live", "[x]", "Waits for your message")
	harmless()
	s.visit("/c/" + url.PathEscape(name))
	s.reads("the answer, from the server", "Waits for your message")
	harmless()
	s.finds("/", "the list", "window.evil=1")
	harmless()
	require.Equal(s.t, "0", s.script("performance.getEntriesByType('resource').filter(r => !r.name.startsWith(location.origin) && !r.name.startsWith('data:')).length"))
}
