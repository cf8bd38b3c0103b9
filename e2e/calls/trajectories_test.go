package calls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/internal/testkit/trajectory"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// allTrajectories makes [TestTrajectoriesComeOutEqual] run every recorded conversation, and not only a selection.
// It is set by `make trajectories`.
var allTrajectories = os.Getenv("REAGENT_TRAJECTORIES") == "all"

// Recorded conversations of real models run through the programs worker and starter, and come out the same. A stand-in
// model sends the recorded replies, an MCP server sends the recorded tool results, and starter sends the users'
// messages. Each request must have the recorded messages, and `starter show` must print the whole conversation at the
// end. Each conversation runs with whole replies, and with streams that are cut at random places.
func TestTrajectoriesComeOutEqual(t *testing.T) {
	all, err := trajectory.Load(world.Path("testdata/trajectories"))
	require.NoError(t, err)
	var drivable []trajectory.Conversation
	obstacles := map[string]int{}
	for _, c := range all {
		if _, obstacle := c.Turns(); obstacle != "" {
			obstacles[obstacle]++
		} else {
			drivable = append(drivable, c)
		}
	}
	t.Logf("%d of %d recorded conversations can be driven from outside; the others go through the core only: %v", len(drivable), len(all), obstacles)
	require.Equal(t, 128, len(drivable))
	if !allTrajectories {
		drivable = trajectory.Representative(drivable)
	}
	for name, way := range map[string]delivery{
		"whole": {}, "streamed": {seed: 1}, "streamed otherwise": {seed: 2},
	} {
		if way.seed > 1 && !allTrajectories {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w, players := newTheatre(t, drivable, way)
			w.Worker()
			var group errgroup.Group
			group.SetLimit(4)
			for _, p := range players {
				group.Go(func() error { return p.play(w) })
			}
			require.NoError(t, group.Wait())
			for _, p := range players {
				require.NotEmpty(t, p.endpoint.Requests())
				for _, r := range p.endpoint.Requests() {
					require.Equal(t, way.streams(), r.Stream)
				}
			}
			t.Logf("%d conversations ran through the binaries and came out equal", len(players))
		})
	}
}

// delivery is the way in which a stand-in model sends its replies. If seed is 0, it sends them whole. Otherwise it
// sends streams, and seed decides where they are cut.
type delivery struct{ seed uint64 }

func (d delivery) streams() bool { return d.seed != 0 }

// player plays one recorded conversation: it acts as the model, as the tools and as the users.
type player struct {
	name     string
	conv     trajectory.Conversation
	messages []llm.Message
	endpoint *standin.Endpoint

	mu sync.Mutex
	// served is the index of the newest assistant message that the model gave.
	served   int
	problems []string
}

// newTheatre serves recorded conversations, and returns a player for each. The world that it returns has a
// configuration with an agent, a model and an MCP server for each conversation. The parameter way says how the models
// send their replies.
func newTheatre(t *testing.T, conversations []trajectory.Conversation, way delivery) (*world.World, []*player) {
	mux := http.NewServeMux()
	listener := httptest.NewServer(mux)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	w := &world.World{T: t, Queue: "trajectories" + fmt.Sprint(way.seed)}
	var models, servers, agents strings.Builder
	var players []*player
	for i, c := range conversations {
		p := &player{name: fmt.Sprintf("c%d-%d", i, way.seed), conv: c}
		p.messages, _ = c.Turns()
		p.endpoint = &standin.Endpoint{Client: llmtest.Func(p.reply), Seed: way.seed}
		mux.Handle("/"+p.name+"/v1/", p.endpoint)
		tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return p.server() }, &mcp.StreamableHTTPOptions{Stateless: true})
		mux.Handle("/"+p.name+"/mcp", tools)
		fmt.Fprintf(&models, "  %s: {model: m, stream: %t, base_url: \"%s/%s/v1\"}\n", p.name, way.streams(), listener.URL, p.name)
		fmt.Fprintf(&servers, "  %s: {url: \"%s/%s/mcp\"}\n", p.name, listener.URL, p.name)
		instructions, err := json.Marshal(c.System)
		require.NoError(t, err)
		// Recorded turns may have more model calls than the default limit, and larger results.
		fmt.Fprintf(&agents, "  %s: {model: %s, tools: [%s.*], limits: {model_calls: 1000, tool_result_bytes: 1048576}, instructions: %s}\n", p.name, p.name, p.name, instructions)
		players = append(players, p)
	}
	w.WriteConfig("task_queue: " + w.Queue + "\nmodels:\n" + models.String() + "mcp_servers:\n" + servers.String() + "agents:\n" + agents.String())
	return w, players
}

// reply acts as the model: it returns the recorded reply to the request. It returns an error if the messages of the
// request differ from the recorded messages.
func (p *player) reply(_ context.Context, req llm.Request) (llm.Reply, error) {
	sent := req.Messages
	if p.conv.System != "" {
		if len(sent) == 0 || sent[0].Role != llm.System || sent[0].Content != p.conv.System {
			return p.fail("the system message differs")
		}
		sent = sent[1:]
	}
	if len(sent) >= len(p.messages) || p.messages[len(sent)].Role != llm.Assistant {
		return p.fail("%d messages were sent, after which no reply is recorded", len(sent))
	}
	for i, m := range sent {
		if want := wire(p.messages[i]); fmt.Sprint(want) != fmt.Sprint(m) {
			return p.fail("message %d of %d differs:\nwant %+v\ngot  %+v", i, len(sent), want, m)
		}
	}
	p.mu.Lock()
	p.served = len(sent)
	p.mu.Unlock()
	return llm.Reply{Message: p.messages[len(sent)], FinishReason: "stop"}, nil
}

// wire returns a recorded message in the form in which the model gets it. Only an empty tool result differs: in a
// request, it has a text.
func wire(m llm.Message) llm.Message {
	if m.Role == llm.Tool && m.Content == "" {
		m.Content = "(no output)"
	}
	return m
}

func (p *player) fail(format string, args ...any) (llm.Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
	return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: p.problems[len(p.problems)-1]}
}

// server returns an MCP server with the recorded tools. It also has the tools that the recorded model called although
// they were not recorded.
func (p *player) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: p.name, Version: "1"}, nil)
	offered := map[string]bool{}
	offer := func(name, description string, schema json.RawMessage) {
		var object struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(schema, &object) != nil || object.Type != "object" {
			schema = world.AnyObject
		}
		if !offered[name] {
			offered[name] = true
			s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: schema}, p.result)
		}
	}
	for _, tool := range p.conv.Tools {
		offer(tool.Name, tool.Description, tool.Parameters)
	}
	for _, m := range p.messages {
		for _, call := range m.ToolCalls {
			offer(call.Name, "", world.AnyObject)
		}
	}
	return s
}

// result acts as the tools: it returns the recorded result of a call. It looks only at the results of the reply that
// was served last, because IDs of calls are not unique in a conversation, and equal calls may have different results.
func (p *player) result(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	id, _ := r.Params.Meta["reagent.dev/call_id"].(string)
	p.mu.Lock()
	from := p.served + 1
	p.mu.Unlock()
	for _, m := range p.messages[from:] {
		if m.Role != llm.Tool {
			break
		}
		if m.ToolCallID == id {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: m.Content}}}, nil
		}
	}
	_, err := p.fail("no result is recorded for call %q after message %d", id, from-1)
	return nil, err
}

// play acts as the users: it sends their messages. At the end, it compares the messages that `starter show` prints with
// the recorded messages.
func (p *player) play(w *world.World) error {
	started := false
	for i, m := range p.messages {
		if m.Role != llm.User {
			continue
		}
		args := []string{"send", p.name, "-"}
		if !started {
			args = []string{"run", "--chat", "-a", p.name, "--id", p.name, "-"}
			started = true
		}
		out, errs, code := w.StarterWith(m.Content, args...)
		if code != 0 || len(p.problems) > 0 {
			return fmt.Errorf("%s: message %d: %v: %s%s", p.conv.ID, i, p.problems, out, errs)
		}
	}
	var s world.Shown
	out, errs, code := w.Starter("show", "--json", p.name)
	if code != 0 {
		return fmt.Errorf("%s: show: %s", p.conv.ID, errs)
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return err
	}
	if len(s.Messages) != len(p.messages) {
		return fmt.Errorf("%s: show has %d messages, recorded are %d", p.conv.ID, len(s.Messages), len(p.messages))
	}
	for i, want := range p.messages {
		if got := s.Messages[i].Message(); fmt.Sprint(want) != fmt.Sprint(got) {
			return fmt.Errorf("%s: show: message %d differs:\nwant %+v\ngot  %+v", p.conv.ID, i, want, got)
		}
	}
	return nil
}
