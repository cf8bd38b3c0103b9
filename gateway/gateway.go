// Package gateway serves agents by OpenAI's API: a client that knows a base URL, a key and the name of a model talks to a durable agent.
//
// It keeps nothing. Everything that it answers follows from the list of events of an agent (see package conversation), so each replica gives
// the same answer, also for a stream that another one began. The IDs that clients get say where in this list a response is.
package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/gateway/access"
)

// Agent is an agent that clients choose like a model.
type Agent struct {
	// Name is the name of the definition, and the name of the model for clients.
	Name string
	// Description tells people what the agent does; it may be empty.
	Description string
	// TaskQueue is the task queue on which the agent runs. Empty means that of the client.
	TaskQueue string
}

// Options are the options of [New]. Client and Agents are required.
type Options struct {
	Client *client.Client
	// Namespace is the Temporal namespace of the client, which deletions need.
	Namespace string
	// Agents returns the agents that there are. It is called for each request, so that a changed configuration holds at once.
	Agents func() []Agent
	// ConversationHeaders are the names of headers with the ID of the client's conversation. Defaults to [DefaultConversationHeaders].
	ConversationHeaders []string
	// Ping is the time after which a stream without an event gets a comment, so that no proxy ends it. Defaults to 15 seconds.
	Ping time.Duration
	// HangUpStops interrupts the turn of a stream or of a waiting request whose client hangs up. False means that the turn goes on.
	HangUpStops bool
	// Hold sends the text of a reply only when it is recorded. Then no stream ends because an attempt at a model call was lost.
	Hold bool
	// Log defaults to [slog.Default].
	Log *slog.Logger
}

// DefaultConversationHeaders are those of Open WebUI and of LibreChat, and one for programs of one's own.
var DefaultConversationHeaders = []string{"X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id", "X-Conversation-Id"}

// Gateway answers requests. Create it with [New]. It is safe for concurrent use.
type Gateway struct {
	client    *client.Client
	namespace string
	agents    func() []Agent
	headers   []string
	ping      time.Duration
	hangUp    bool
	hold      bool
	log       *slog.Logger
}

// New returns a gateway.
func New(o Options) *Gateway {
	g := &Gateway{client: o.Client, namespace: o.Namespace, agents: o.Agents, headers: o.ConversationHeaders, ping: cmp.Or(o.Ping, 15*time.Second), hangUp: o.HangUpStops, hold: o.Hold, log: cmp.Or(o.Log, slog.Default())}
	if len(g.headers) == 0 {
		g.headers = DefaultConversationHeaders
	}
	return g
}

// OnError answers a request that package access has refused, in the form of OpenAI's API.
func OnError(w http.ResponseWriter, _ *http.Request, e *access.Error) {
	kind := typeInvalid
	if e.Status == http.StatusTooManyRequests {
		kind = typeRate
	}
	writeJSON(w, e.Status, map[string]any{"error": apiError{Message: e.Message, Type: kind, Code: e.Code}})
}

// Handler returns the handler of the paths below /v1/. The context of a request must have its caller: see [access.Control.Handler].
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /v1/models":                     g.listModels,
		"GET /v1/models/{id...}":             g.getModel,
		"POST /v1/chat/completions":          g.chatCompletion,
		"POST /v1/responses":                 g.createResponse,
		"GET /v1/responses/{id}":             g.getResponse,
		"DELETE /v1/responses/{id}":          g.deleteResponse,
		"POST /v1/responses/{id}/cancel":     g.cancelResponse,
		"GET /v1/responses/{id}/input_items": g.inputItems,
		"POST /v1/conversations":             g.createConversation,
		"GET /v1/conversations/{id}":         g.getConversation,
		"DELETE /v1/conversations/{id}":      g.deleteConversation,
		"GET /v1/conversations/{id}/items":   g.conversationItems,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			if err := serve(w, req); err != nil && req.Context().Err() == nil {
				writeError(w, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		writeError(w, &apiError{Status: http.StatusNotFound, Type: typeInvalid, Code: "unknown_url", Message: "there is no " + req.Method + " " + quoted(req.URL.Path) + " here; see docs/gateway.md for the paths"})
	})
	return mux
}

// The names under which the gateway keeps what it knows in the metadata of agents and messages. Clients cannot set names that begin with
// metadataPrefix.
const (
	metadataPrefix     = "gateway."
	metadataPrevious   = metadataPrefix + "previous"
	metadataBackground = metadataPrefix + "background"
	metadataSchemaName = metadataPrefix + "schema"
)

// publicMetadata returns what clients have set.
func publicMetadata(m agent.Metadata) map[string]string {
	public := map[string]string{}
	for name, value := range m {
		if !strings.HasPrefix(name, metadataPrefix) && name != agent.CallerReference {
			public[name] = value
		}
	}
	return public
}

// checkMetadata returns an error if a client sets metadata that it may not set.
func checkMetadata(m agent.Metadata) error {
	for name := range m {
		if strings.HasPrefix(name, metadataPrefix) || name == agent.CallerReference {
			return invalid("metadata", "the name "+quoted(name)+" in the metadata is the gateway's own; choose another one")
		}
	}
	if err := m.Check(); err != nil {
		return invalid("metadata", err.Error())
	}
	return nil
}

// conversationOf returns the agent with the given ID if the caller may do this with it. The error for a conversation of somebody else is the
// same as for one that does not exist.
func (g *Gateway) conversationOf(ctx context.Context, scope access.Scope, id string, gone error) (client.Entry, error) {
	caller := access.FromContext(ctx)
	found, err := g.client.Find(ctx, id)
	if err != nil {
		if apiErrorOf(err).Status == http.StatusNotFound {
			return found, gone
		}
		return found, err
	}
	if !caller.All && found.Metadata == nil { // an agent without content in its memo
		if snap, err := g.client.ShowRecorded(ctx, id); err == nil {
			found.Metadata = snap.Metadata
		}
	}
	if !caller.Sees(found.Metadata[access.OwnerKey]) {
		return found, gone
	}
	if refused := caller.Require(scope, found.Agent); refused != nil {
		return found, forbidden(refused.Message)
	}
	return found, nil
}

// agentNamed returns the agent that a request names as its model, and the model that it chooses for it: "agent", or "agent/model".
func (g *Gateway) agentNamed(ctx context.Context, name string) (Agent, string, error) {
	if name == "" {
		return Agent{}, "", invalid("model", "the field model is empty; set it to the name of an agent: GET /v1/models lists them")
	}
	all := g.agents()
	is := func(name string) int { return slices.IndexFunc(all, func(a Agent) bool { return a.Name == name }) }
	i, model := is(name), ""
	if i < 0 {
		if before, after, found := strings.Cut(name, "/"); found {
			i, model = is(before), after
		}
	}
	if i < 0 {
		return Agent{}, "", &apiError{Status: http.StatusNotFound, Type: typeInvalid, Param: "model", Code: "model_not_found", Message: "there is no agent " + quoted(name) + "; GET /v1/models lists the agents"}
	}
	if refused := access.FromContext(ctx).Require(access.Talk, all[i].Name); refused != nil {
		return Agent{}, "", forbidden(refused.Message)
	}
	return all[i], model, nil
}

// clientFor returns the client for new conversations with the agent.
func (g *Gateway) clientFor(a Agent) *client.Client {
	if a.TaskQueue == "" {
		return g.client
	}
	return g.client.WithTaskQueue(a.TaskQueue)
}
