// Package page is the gateway's own web page: people start conversations with agents and continue them, watch them live, decide on calls,
// answer questions, interrupt, and fork. An inbox has all calls that wait for a person.
//
// The server renders all pages. They work without the script, which adds live text and settles calls in place. A page loads nothing from
// elsewhere. Texts of models, tools and people, and names of all kinds, never become markup or scripts: see [markdown] and the header
// Content-Security-Policy.
package page

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/weblink"
)

// Agent is an agent with which people can start conversations.
type Agent struct {
	// Name is the name of the agent's definition.
	Name string
	// Description is a line for people; it may be empty.
	Description string
}

// Options are the options of [New]. Client is required.
type Options struct {
	// Client reaches the agents.
	Client *client.Client
	// Agents are those with which people can start conversations, in the order of the form.
	Agents []Agent
	// Caller returns who has sent a request. Nil means that everybody may do everything, and that conversations have no owner.
	Caller func(*http.Request) Caller
	// WebUI is the address of Temporal's Web UI, and Namespace the Temporal namespace, for links. Empty means no links.
	WebUI, Namespace string
	// SignOut is the path to which the page posts to end a session. Empty means that the page has no button for it.
	SignOut string
	// Log receives the errors of which the page tells no details. Defaults to [slog.Default].
	Log *slog.Logger
}

// agents are the methods of [client.Client] that the page needs.
type agents interface {
	ShowRecorded(ctx context.Context, id string) (client.Snapshot, error)
	Earlier(ctx context.Context, id string, before int) ([]agent.Message, error)
	Events(ctx context.Context, id string, from int) iter.Seq2[client.Update, error]
	List(ctx context.Context, o client.ListOptions) iter.Seq2[client.Entry, error]
	Tree(ctx context.Context, id string) ([]client.Entry, error)
	Inbox(ctx context.Context) ([]client.Waits, error)
	Pending(ctx context.Context, id string) ([]client.Waits, error)
	Start(ctx context.Context, o client.StartOptions) (client.Started, error)
	SendOrStart(ctx context.Context, id string, m client.Message, o client.StartOptions) (client.Sent, error)
	Fork(ctx context.Context, id string, o client.ForkOptions) (client.Started, error)
	Decide(ctx context.Context, w client.Waits, d agent.Decision) error
	InterruptBy(ctx context.Context, id, by string) error
}

type handler struct {
	Options
	agents agents
}

// New returns the handler of the page. Its paths are "/", "/inbox", "/start", and all below "/c/" and "/assets/". The caller of New decides who
// reaches it. It refuses requests that change something and come from pages of other origins.
func New(o Options) http.Handler { return newHandler(o, o.Client) }

func newHandler(o Options, a agents) http.Handler {
	o.Log = cmp.Or(o.Log, slog.Default())
	o.WebUI = strings.TrimSuffix(o.WebUI, "/")
	h := &handler{Options: o, agents: a}
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}":                  h.list,
		"GET /inbox":                h.inbox,
		"GET /c/{id}":               h.conversation,
		"GET /c/{id}/events":        h.events,
		"GET /c/{id}/text/{number}": h.text,
		"POST /start":               h.start,
		"POST /c/{id}/message":      h.message,
		"POST /c/{id}/decide":       h.decide,
		"POST /c/{id}/interrupt":    h.interrupt,
		"POST /c/{id}/fork":         h.fork,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				h.refuse(w, r, err)
			}
		})
	}
	mux.HandleFunc("GET /assets/{name}", serveAsset)
	return secured(http.NewCrossOriginProtection().Handler(mux))
}

// maxForm is the largest form, in bytes: the largest message, with each byte encoded as three.
const maxForm = 4 << 20

// secured sets the headers that keep a page from doing what it is not to do, whatever it contains.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
				"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types fragment",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
			"Referrer-Policy":              "no-referrer",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Cache-Control":                "no-store",
		} {
			w.Header().Set(name, value)
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

// link returns the link to an agent in Temporal's Web UI; empty if there is none.
func (h *handler) link(id string) string {
	if h.WebUI == "" {
		return ""
	}
	return weblink.Agent(h.WebUI, cmp.Or(h.Namespace, "default"), id)
}
