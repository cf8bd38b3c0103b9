package openai_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// picky is an endpoint that refuses requests with certain texts in their body.
type picky struct {
	refuse map[string]string // a text in a request's body → the body of the error response
	status int
	next   http.Handler

	mu    sync.Mutex
	asked []string
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form := "plain"
	if strings.Contains(string(body), `"stream":true`) {
		form = "stream"
	}
	if strings.Contains(string(body), "stream_options") {
		form += " with options"
	}
	p.mu.Lock()
	p.asked = append(p.asked, form)
	p.mu.Unlock()
	for part, says := range p.refuse {
		if strings.Contains(string(body), part) {
			w.WriteHeader(p.status)
			_, _ = io.WriteString(w, says)
			return
		}
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	p.next.ServeHTTP(w, r)
}

func TestAnEndpointThatRefusesToStreamIsAskedPlainly(t *testing.T) {
	t.Parallel()
	const options, stream = "stream with options", "stream"
	for name, test := range map[string]struct {
		status int
		refuse map[string]string
		first  []string // the forms of the first request, the last of which is kept
	}{
		"takes all": {200, nil, []string{options}},
		"no options": {
			400, map[string]string{"stream_options": `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`},
			[]string{options, stream},
		},
		"no options, FastAPI": {
			422, map[string]string{"stream_options": `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`},
			[]string{options, stream},
		},
		"no stream": {
			400, map[string]string{`"stream":true`: `{"error":{"message":"Your organization must be verified to stream this model.","param":"stream"}}`},
			[]string{options, "plain"},
		},
		"no stream, named by its place": {
			400, map[string]string{`"stream":true`: `{"error":{"message":"Unsupported value","param":"stream"}}`},
			[]string{options, "plain"},
		},
		"neither": {
			400, map[string]string{`"stream_options"`: `"stream_options: unknown field"`, `"stream":true`: `{"error":"stream: unknown field"}`},
			[]string{options, stream, "plain"},
		},
		"not implemented": {501, map[string]string{`"stream":true`: "streaming is not implemented"}, []string{options, "plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &picky{refuse: test.refuse, status: test.status, next: llmtest.Handler(llmtest.Script(llmtest.Say("Hi.")))}
			if name == "neither" { // one handler for each text, because a map has no order
				delete(p.refuse, `"stream":true`)
				p.next = &picky{refuse: map[string]string{`"stream":true`: `{"error":"stream: unknown field"}`}, status: 400, next: p.next}
			}
			client := serve(t, p)
			for range 3 {
				reply, err := client.Complete(t.Context(), ask())
				require.NoError(t, err)
				require.Equal(t, "Hi.", reply.Message.Content)
			}
			last := test.first[len(test.first)-1]
			require.Equal(t, append(slices.Clone(test.first), last, last), p.asked)

			other := ask()
			other.Candidates[0].Model = "another-model"
			_, err := client.Complete(t.Context(), other)
			require.NoError(t, err)
			require.Equal(t, options, p.asked[len(test.first)+2], "each model is asked for itself")
		})
	}
}

// If the endpoint refuses the request for another reason, the client does not try another form, even if the message mentions
// streams.
func TestARequestThatIsRefusedIsNotTakenForAForm(t *testing.T) {
	t.Parallel()
	for status, says := range map[int]string{
		400: "messages[0]: the upstream said no",
		401: "no key, no stream",
		429: "too many requests to stream",
		500: "stream error",
	} {
		p := &picky{refuse: map[string]string{"model": says}, status: status}
		client := serve(t, p)
		_, err := client.Complete(t.Context(), ask())
		require.Error(t, err)
		require.Equal(t, []string{"stream with options"}, p.asked, says)
	}

	// The client may mistake a refusal for one of the form. Then the plain request is refused, too, and the client does not
	// remember the plain form.
	p := &picky{refuse: map[string]string{"model": "do not stream that message"}, status: 400}
	client := serve(t, p)
	for range 2 {
		_, err := client.Complete(t.Context(), ask())
		require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
	}
	require.Equal(t, []string{"stream with options", "plain", "stream with options", "plain"}, p.asked)
}

func TestNoStreamAsksPlainly(t *testing.T) {
	t.Parallel()
	p := &picky{next: llmtest.Handler(llmtest.Script(llmtest.Say("Hi.")))}
	_, err := serve(t, p, noStream).Complete(t.Context(), ask())
	require.NoError(t, err)
	require.Equal(t, []string{"plain"}, p.asked)
}
