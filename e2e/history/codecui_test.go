package history_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// codecServer starts a codec server with the keys of the world, until the test has ended.
func codecServer(w *world.World, auth string, flags ...string) (address string, keys object.CodecServer) {
	command := w.Command("starter", append([]string{"codec-server", "--listen", "127.0.0.1:0", "--json"}, flags...)...)
	command.Env = append(command.Env, "REAGENT_CODEC_AUTH="+auth)
	server := w.StartCommand(command)
	w.Eventually("the codec server runs", func() bool { return json.Unmarshal([]byte(server.Output()), &keys) == nil })
	return "http://" + keys.Address, keys
}

// webUIReads asserts that the Web UI in a browser shows the words of an agent with a codec server that knows its origin, and no word otherwise.
// If the server has a password, the browser sends the one with which a person has opened the server's address.
func webUIReads(t *testing.T, w *world.World, own *devserver.Server, words vocabulary) {
	p := newPage(t, w.Temporal, own)
	id, word := w.T.Name(), func(place string) string { return string(words) + place }
	showsNothing := func(asked func()) {
		p.visit(id, "user-metadata")
		asked()
		p.reads("what is encrypted", "Decoding failed")
		require.NotContains(t, p.text, string(words))
	}
	showsNothing(func() {})

	other, answers := observed(t, w, "", "http://localhost:8233")
	p.set(other, false)
	showsNothing(func() { answers(http.StatusForbidden) })

	locked, answers := observed(t, w, "Basic ann:a longer password", own.UIURL())
	p.set(locked, false)
	showsNothing(func() { answers(http.StatusUnauthorized) })
	require.NoError(t, p.browser.Visit(strings.Replace(locked, "//", "//ann:a%20longer%20password@", 1)))
	p.reads("that the password is right", "This is a codec server")
	p.set(locked, true)
	p.visit(id, "memo")
	p.reads("the memo, with a password", `"reagent_task": "`+word("Task")+`"`)

	free, _ := codecServer(w, "", "--origin", own.UIURL())
	p.set(free, false)
	p.visit(id, "history")
	p.reads("the input, summaries and results", `"text": "`+word("Task")+`"`, `pay {"for":"`+word("Edited")+`"}`, "clerk · "+word("ChildTask"), word("Reply"))
	p.visit(id, "user-metadata")
	p.reads("summary, details and current details", "x · "+word("Task"), `waits for approval · pay {"for":"`+word("Arguments")+`"}`, word("Result"), word("ChildAnswer"))
	require.NotContains(t, p.text, "Decoding failed")
}

// observed starts a codec server behind a proxy. The function `answers` waits until the codec server has answered a request to decode with a status.
func observed(t *testing.T, w *world.World, auth, origin string) (endpoint string, answers func(status int)) {
	codec, _ := codecServer(w, auth, "--origin", origin)
	to, err := url.Parse(codec)
	require.NoError(t, err)
	seen := make(chan int, 1000)
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/decode") {
				seen <- r.StatusCode
			}
			return nil
		},
	})
	t.Cleanup(front.Close)
	return front.URL, func(status int) {
		for late := time.After(world.Patience); ; {
			select {
			case got := <-seen:
				if got == status {
					return
				}
			case <-late:
				require.FailNow(t, "the codec server was not asked", "no answer %d", status)
			}
		}
	}
}

// set gives the Web UI a codec server, as its settings do.
func (p *uiPage) set(endpoint string, credentials bool) {
	require.NoError(p.t, p.browser.Visit(p.server.UIURL()+"/api/v1/settings")) // a page of its origin that loads soon
	_, err := p.browser.Evaluate(fmt.Sprintf(
		`(localStorage.setItem("endpoint", JSON.stringify(%q)), localStorage.setItem("includeCredentials", "%t"))`, endpoint, credentials))
	require.NoError(p.t, err)
}
