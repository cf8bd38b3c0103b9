package standin_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// object is a JSON object.
type object = map[string]any

// ways are the ways in which an endpoint can send a reply.
var ways = map[string]struct {
	stream bool
	seed   uint64
}{
	"whole":             {},
	"stream":            {stream: true},
	"stream at random":  {stream: true, seed: 1},
	"stream at random2": {stream: true, seed: 2},
}

// dialogue is a conversation with an endpoint that behaves like a provider.
type dialogue struct {
	t        *testing.T
	server   *standin.Server
	model    *llmtest.Model
	name     string // the model's name
	stream   bool
	rest     object // further members of the body
	messages []object
}

// talk starts an endpoint with the replies of a script, and returns a conversation with one user message.
func talk(t *testing.T, p *standin.Provider, replies ...llm.Reply) *dialogue {
	t.Helper()
	model := llmtest.Script(replies...)
	server := serve(t, model)
	server.Provider = p
	return &dialogue{t: t, server: server, model: model, name: "m", rest: object{}, messages: []object{{"role": "user", "content": "Hello"}}}
}

// in lets the dialogue use one of the ways.
func (d *dialogue) in(way string) *dialogue {
	d.stream, d.server.Seed = ways[way].stream, ways[way].seed
	return d
}

// say adds messages to the conversation.
func (d *dialogue) say(messages ...object) *dialogue {
	d.messages = append(d.messages, messages...)
	return d
}

// with sets a member of the body.
func (d *dialogue) with(name string, value any) *dialogue {
	d.rest[name] = value
	return d
}

// post sends the conversation.
func (d *dialogue) post() (status int, body string) {
	d.t.Helper()
	wire := object{"model": d.name, "messages": d.messages}
	if d.stream {
		wire["stream"] = true
	}
	maps.Copy(wire, d.rest)
	return post(d.t, d.server, text(d.t, wire))
}

// hear sends the conversation and returns the message of the reply.
func (d *dialogue) hear() object {
	d.t.Helper()
	status, body := d.post()
	require.Equal(d.t, http.StatusOK, status, body)
	if d.stream {
		return joined(d.t, body)
	}
	var whole struct {
		Choices []struct{ Message object }
	}
	require.NoError(d.t, json.Unmarshal([]byte(body), &whole))
	return without(whole.Choices[0].Message, "refusal")
}

// refused sends the conversation and checks that the endpoint refuses it with the given status and JSON body.
func (d *dialogue) refused(status int, want string) {
	d.t.Helper()
	before := len(d.model.Requests())
	got, body := d.post()
	require.Equal(d.t, status, got, body)
	require.JSONEq(d.t, want, body)
	require.Len(d.t, d.model.Requests(), before, "the client of the endpoint does not get a refused request")
}

// step returns a message with two calls, and the results of the calls.
func step(first, second string) []object {
	return []object{
		{"role": "assistant", "content": "", "tool_calls": []any{call2(first), call2(second)}},
		result(first), result(second),
	}
}

func call2(id string) object {
	return object{"id": id, "type": "function", "function": object{"name": "f", "arguments": "{}"}}
}

func result(id string) object { return object{"role": "tool", "tool_call_id": id, "content": "done"} }

func user(content string) object { return object{"role": "user", "content": content} }

// tool returns a tool with the given schema. If the schema is nil, the tool has none.
func tool(schema object) object {
	function := object{"name": "f"}
	if schema != nil {
		function["parameters"] = schema
	}
	return object{"type": "function", "function": function}
}

// calls returns a reply with two calls, with the given IDs.
func calls(first, second string) llm.Reply {
	return llmtest.Call(llmtest.ToolCall(first, "f", `{"n":1}`), llmtest.ToolCall(second, "g", `{"text":"<a & b>"}`))
}

// copied returns a deep copy of an object.
func copied(o object) object {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var all object
	if err := json.Unmarshal(data, &all); err != nil {
		panic(err)
	}
	return all
}

// with returns a copy of an object with another value of a member.
func with(o object, name string, value any) object {
	all := copied(o)
	all[name] = value
	return all
}

// without returns a copy of an object without a member.
func without(o object, name string) object {
	all := copied(o)
	delete(all, name)
	return all
}

// text returns the JSON text of a value.
func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// callsOf returns the calls of a message.
func callsOf(message object) []object {
	var all []object
	list, _ := message["tool_calls"].([]any)
	for _, c := range list {
		all = append(all, c.(object)) //nolint:forcetypeassert // a test may panic
	}
	return all
}

// joined assembles the message in a stream, as a client does. It joins the fragments of reasoning_details that follow one another and
// have the same type and index.
func joined(t *testing.T, stream string) object {
	t.Helper()
	message, at := object{}, map[string]int{}
	var all []any
	var details []any
	lines := bufio.NewScanner(strings.NewReader(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)))
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found || data == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct{ Delta object }
		}
		require.NoError(t, json.Unmarshal([]byte(data), &event))
		for _, choice := range event.Choices {
			for name, value := range choice.Delta {
				switch name {
				case "tool_calls":
					for _, piece := range value.([]any) { //nolint:forcetypeassert // a test may panic
						all = joinCall(all, at, piece.(object)) //nolint:forcetypeassert // a test may panic
					}
				case "reasoning_details":
					details = joinDetails(details, value.([]any)) //nolint:forcetypeassert // a test may panic
				case "content", "reasoning", "reasoning_content":
					before, _ := message[name].(string)
					message[name] = before + value.(string) //nolint:forcetypeassert // a test may panic
				default:
					require.NotContains(t, message, name, "a member comes only once")
					message[name] = value
				}
			}
		}
	}
	if all != nil {
		index := func(call any) float64 {
			n, _ := call.(object)["index"].(float64) //nolint:forcetypeassert // a test may panic
			return n
		}
		slices.SortStableFunc(all, func(a, b any) int { return cmp.Compare(index(a), index(b)) })
		for _, call := range all {
			delete(call.(object), "index") //nolint:forcetypeassert // a test may panic
		}
		message["tool_calls"] = all
	}
	if details != nil {
		message["reasoning_details"] = details
	}
	return message
}

// joinCall adds a part of a call to the calls. `at` has the position of each call. A part without an index is a whole call.
func joinCall(all []any, at map[string]int, piece object) []any {
	id := fmt.Sprint(piece["index"])
	if piece["index"] == nil {
		id = fmt.Sprint(piece["id"])
	}
	position, found := at[id]
	if !found {
		at[id] = len(all)
		return append(all, piece)
	}
	function := all[position].(object)["function"].(object)                                                   //nolint:forcetypeassert // a test may panic
	function["arguments"] = function["arguments"].(string) + piece["function"].(object)["arguments"].(string) //nolint:forcetypeassert // a test may panic
	return all
}

// joinDetails adds fragments to a list reasoning_details.
func joinDetails(all, fragments []any) []any {
	for _, f := range fragments {
		fragment := f.(object) //nolint:forcetypeassert // a test may panic
		if len(all) > 0 {
			last := all[len(all)-1].(object) //nolint:forcetypeassert // a test may panic
			if last["type"] == fragment["type"] && last["index"] == fragment["index"] {
				for name, value := range fragment {
					if before, is := last[name].(string); is && (name == "text" || name == "summary") {
						value = before + value.(string) //nolint:forcetypeassert // a test may panic
					}
					last[name] = value
				}
				continue
			}
		}
		all = append(all, fragment)
	}
	return all
}

func TestRepliesCarryTheirOpaqueData(t *testing.T) {
	t.Parallel()
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			reply := calls("1", "2")
			reply.Message.Content = "Some <text> that is long enough for several events."
			reply.Message.Opaque.Data = `{"extra": {"big":12345678901234567890,"html":"<&>"},"reasoning_details":[{"type":"reasoning.text","text":"A thought of some length.","signature":"s","index":0},{"type":"reasoning.encrypted","data":"abc","index":1}]}`
			reply.Message.ToolCalls[1].Opaque.Data = `{"extra_content":{"google":{"thought_signature":"a+/="}}}`
			d := talk(t, nil, reply).in(way)

			got := d.hear()

			require.Equal(t, reply.Message.Content, got["content"])
			require.Equal(t, "<&>", got["extra"].(object)["html"]) //nolint:forcetypeassert // a test may panic
			require.JSONEq(t, `[{"type":"reasoning.text","text":"A thought of some length.","signature":"s","index":0},
				{"type":"reasoning.encrypted","data":"abc","index":1}]`, text(t, got["reasoning_details"]))
			list := callsOf(got)
			require.Len(t, list, 2)
			require.NotContains(t, list[0], "extra_content")
			require.JSONEq(t, `{"google":{"thought_signature":"a+/="}}`, text(t, list[1]["extra_content"]))
			_, body := d.post()
			require.Contains(t, body, "12345678901234567890", "numbers keep their digits")
		})
	}
}

func TestARepeatedRequestGetsTheSameAdditions(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]func() *standin.Provider{
		"Gemini": standin.Gemini, "DeepSeek": standin.DeepSeek, "MiniMax": standin.MiniMax, "OpenRouter": standin.OpenRouter,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := talk(t, provider(), calls("1", "2"))
			first := d.hear()
			require.Equal(t, first, d.hear())
			require.NotEqual(t, first, d.say(user("again")).hear(), "another request gets other additions")
		})
	}
}

func TestAnEmptyReplyStaysEmpty(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]func() *standin.Provider{
		"Gemini": standin.Gemini, "DeepSeek": standin.DeepSeek, "MiniMax": standin.MiniMax, "OpenRouter": standin.OpenRouter,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, object{"role": "assistant", "content": nil}, talk(t, provider(), llm.Reply{}).hear())
		})
	}
}

func TestALenientEndpointSkipsTheRulesOfTheProvider(t *testing.T) {
	t.Parallel()
	d := talk(t, standin.Mistral(), llmtest.Say("Hi.")).with("seed", 1)
	d.server.Lenient = true
	require.Equal(t, "Hi.", d.hear()["content"])
}

func TestAProviderAddsNoPaths(t *testing.T) {
	t.Parallel()
	server := serve(t, llmtest.Script(llmtest.Say("a")))
	server.Provider = standin.Gemini()
	response, err := http.Post(server.URL+"/unknown", "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestTheReasoningOfARequestIsReadOnlyWithAProvider(t *testing.T) {
	t.Parallel()
	for _, p := range []*standin.Provider{nil, standin.DeepSeek()} {
		d := talk(t, p, llmtest.Say("a"), llmtest.Say("b")).say(object{"role": "assistant", "content": "x", "reasoning_content": "hm"}, user("y"))
		require.Equal(t, "b", d.hear()["content"])
		require.Equal(t, p != nil, d.model.Requests()[0].Messages[1].Reasoning == "hm")
		require.Contains(t, string(d.server.Requests()[0].Body), "hm")
	}
}

func TestErrorsHaveTheBodyOfTheProvider(t *testing.T) {
	t.Parallel()
	limited := llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.RateLimited, Message: "Slow down."}
	})
	for name, test := range map[string]struct {
		provider *standin.Provider
		want     string
	}{
		"Gemini":     {standin.Gemini(), `[{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}]`},
		"Kimi":       {standin.Kimi(), `{"error":{"message":"Slow down.","type":"requests"}}`},
		"Mistral":    {standin.Mistral(), `{"object":"error","message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}`},
		"Cloudflare": {standin.Cloudflare(), `{"errors":{"message":"Slow down.","code":429},"success":false,"result":{},"messages":[]}`},
		"OpenRouter": {standin.OpenRouter(), `{"error":{"message":"Slow down.","code":429}}`},
		"Gemma":      {standin.Gemma(), `{"object":"error","message":"Slow down.","type":"requests","param":null,"code":429}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, limited)
			server.Provider = test.provider
			status, body := post(t, server, `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
			require.Equal(t, http.StatusTooManyRequests, status)
			require.JSONEq(t, test.want, body)
		})
	}
}
