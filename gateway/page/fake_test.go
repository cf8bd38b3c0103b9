package page

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// fake has agents of which the test says everything. Its methods record what the page asks for.
type fake struct {
	snaps map[string]client.Snapshot
	// earlier are messages that were summarised.
	earlier []agent.Message
	inbox   []client.Waits
	entries []client.Entry
	// updates are those of Events, by the index from which they are read.
	updates func(from int) iter.Seq2[client.Update, error]
	// refuses is the error of everything that changes something.
	refuses error

	mu   sync.Mutex
	done []string
}

func (f *fake) did(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, fmt.Sprintf(format, args...))
	return f.refuses
}

func (f *fake) ShowRecorded(_ context.Context, id string) (client.Snapshot, error) {
	s, ok := f.snaps[id]
	if !ok {
		return s, client.ErrNotFound
	}
	s.ID = id
	return s, nil
}

func (f *fake) Earlier(_ context.Context, _ string, n int) ([]agent.Message, error) {
	return f.earlier[:n], nil
}

func (f *fake) Events(_ context.Context, _ string, from int) iter.Seq2[client.Update, error] {
	return f.updates(from)
}

func (f *fake) List(context.Context, client.ListOptions) iter.Seq2[client.Entry, error] {
	return func(yield func(client.Entry, error) bool) {
		for _, e := range f.entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (f *fake) Tree(_ context.Context, id string) ([]client.Entry, error) {
	return append([]client.Entry{{ID: id}}, f.entries...), nil
}
func (f *fake) Inbox(context.Context) ([]client.Waits, error)           { return f.inbox, nil }
func (f *fake) Pending(context.Context, string) ([]client.Waits, error) { return f.inbox, nil }

func (f *fake) Start(_ context.Context, o client.StartOptions) (client.Started, error) {
	return client.Started{}, f.did("start %s %s %q %s by %q %v", o.ID, o.Agent, o.Message, o.MessageID, o.By, o.Metadata)
}

func (f *fake) SendOrStart(_ context.Context, id string, m client.Message, _ client.StartOptions) (client.Sent, error) {
	return client.Sent{}, f.did("send %s %s %q by %q steer %t automatic %t", id, m.ID, m.Text, m.By, m.Steer, m.Automatic)
}

func (f *fake) Fork(_ context.Context, id string, o client.ForkOptions) (client.Started, error) {
	return client.Started{}, f.did("fork %s at %d to %s with %q by %q", id, o.At, o.ID, o.Message, o.By)
}

func (f *fake) Decide(_ context.Context, w client.Waits, d agent.Decision) error {
	given := ""
	if d.Result != nil {
		given = d.Result.Content
	}
	return f.did("decide %s %s approve %t reason %q remember %q result %q by %q", w.AgentID, w.Call.Key, d.Approve, d.Reason, d.Remember, given, d.By)
}

func (f *fake) InterruptBy(_ context.Context, id, by string) error {
	return f.did("interrupt %s by %q", id, by)
}

var ann = Caller{Name: "key:ann", ProvedBy: "api key"}

// served is the page over a fake.
type served struct {
	t      *testing.T
	fake   *fake
	server *httptest.Server
}

func serve(t *testing.T, f *fake, c *Caller) *served {
	o := Options{Agents: []Agent{{"x", "does <b>all</b>"}, {"y", ""}}, WebUI: "http://temporal:8233/"}
	if c != nil {
		o.Caller = func(*http.Request) Caller { return *c }
	}
	s := httptest.NewServer(newHandler(o, f))
	t.Cleanup(s.Close)
	return &served{t, f, s}
}

func (s *served) do(method, path string, form url.Values, headers ...string) (int, string, http.Header) {
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+path, strings.NewReader(form.Encode()))
	require.NoError(s.t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	stays := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := stays.Do(r)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	return answer.StatusCode, string(body), answer.Header
}

func (s *served) get(path string, headers ...string) (int, string, http.Header) {
	return s.do(http.MethodGet, path, nil, headers...)
}

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
