package mcp_test

import (
	"context"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// form returns the arguments of the tool "ask" for a question with a schema of these properties.
func form(properties string) string {
	return `{"q":{"method":"elicitation/create","params":{"mode":"form","message":"Which seat?","requestedSchema":{"type":"object","properties":` + properties + `}}}}`
}

// A server asks a person with the result of a call, and gets the answer with a second call. An answer that does not fit is asked for
// again, and the server does not see it.
func TestServerAsksAPerson(t *testing.T) {
	t.Parallel()
	const two = `{"row":{"type":"integer","minimum":1},"side":{"type":"string","enum":["window","aisle"],"description":"where"}}`
	const address = `{"q":{"method":"elicitation/create","params":{"mode":"url","message":"Log in.","url":"https://example.com/login"}}}`
	accept := func(content string) string { return `the state {"q":{"action":"accept","content":` + content + `}}` }
	const decline = `the state {"q":{"action":"decline"}}`
	for name, c := range map[string]struct {
		args, question string
		choices        []string
		answer         tool.Answer
		want           string // the result, or the question that is asked again
	}{
		"text":              {form(`{"name":{"type":"string","title":"Name"}}`), "Which seat?\nname – Name (string)", nil, tool.Answer{Text: "Ann "}, accept(`{"name":"Ann"}`)},
		"choice":            {form(`{"side":{"enum":["window","aisle"]}}`), "Which seat?\nside", []string{"window", "aisle"}, tool.Answer{Text: "aisle"}, accept(`{"side":"aisle"}`)},
		"titled choice":     {form(`{"s":{"type":"string","oneOf":[{"const":"w","title":"Window"}]}}`), "Which seat?\ns (string)", []string{"w"}, tool.Answer{Text: "w"}, accept(`{"s":"w"}`)},
		"no such choice":    {form(`{"side":{"enum":["window","aisle"]}}`), "Which seat?\nside", []string{"window", "aisle"}, tool.Answer{Text: "roof"}, `The answer does not fit: "side": enum: roof does not equal any of: [window aisle]`},
		"number":            {form(`{"row":{"type":"integer"}}`), "Which seat?\nrow (integer)", nil, tool.Answer{Text: "12"}, accept(`{"row":12}`)},
		"no number":         {form(`{"row":{"type":"integer"}}`), "Which seat?\nrow (integer)", nil, tool.Answer{Text: "one"}, "The answer does not fit: answer with a number"},
		"yes":               {form(`{"ok":{"type":"boolean"}}`), "Which seat?\nok (boolean)", []string{"yes", "no"}, tool.Answer{Text: "Yes"}, accept(`{"ok":true}`)},
		"maybe":             {form(`{"ok":{"type":"boolean"}}`), "Which seat?\nok (boolean)", []string{"yes", "no"}, tool.Answer{Text: "maybe"}, "The answer does not fit: answer yes or no"},
		"declined":          {form(`{"ok":{"type":"boolean"}}`), "Which seat?\nok (boolean)", []string{"yes", "no"}, tool.Answer{Declined: true}, decline},
		"nothing to fill":   {form(`{}`), "Which seat?", []string{"yes", "no"}, tool.Answer{Text: "ok"}, `the state {"q":{"action":"accept"}}`},
		"two fields":        {form(two), "Which seat?\nAnswer with a JSON object of these fields:\nrow (integer)\nside (string): where; one of window, aisle", nil, tool.Answer{Text: `{"row":1,"side":"aisle"}`}, accept(`{"row":1,"side":"aisle"}`)},
		"a field too small": {form(two), "Which seat?\nAnswer with a JSON object of these fields:\nrow (integer)\nside (string): where; one of window, aisle", nil, tool.Answer{Text: `{"row":0}`}, `The answer does not fit: "row": minimum: 0/1 is less than 1.000000`},
		"no object":         {form(two), "Which seat?\nAnswer with a JSON object of these fields:\nrow (integer)\nside (string): where; one of window, aisle", nil, tool.Answer{Text: "aisle"}, "The answer does not fit: it is not valid JSON: invalid character 'a' looking for beginning of value"},
		"address":           {address, "Log in.\nOpen this address, if you trust it: https://example.com/login", []string{"done", "no"}, tool.Answer{Text: "done"}, `the state {"q":{"action":"accept"}}`},
		"address refused":   {address, "Log in.\nOpen this address, if you trust it: https://example.com/login", []string{"done", "no"}, tool.Answer{Text: "no"}, decline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, &sdk.StreamableHTTPOptions{Stateless: true})
			asks := find(t, s.connect(nil), "ask")
			got := <-start(tool.WithInfo(t.Context(), tool.Info{Key: "tool-1"}), asks, c.args)
			require.NoError(t, got.err)
			require.NotNil(t, got.res.Question, got.res.Content)
			require.Equal(t, c.question, got.res.Question.Text)
			require.Equal(t, c.choices, got.res.Question.Choices)
			c.answer.State = got.res.Question.State
			ctx := func(a tool.Answer) context.Context {
				return tool.WithInfo(t.Context(), tool.Info{Key: "tool-2", Answer: &a})
			}
			first, calls := got.res.Question, len(s.calls())
			got = <-start(ctx(c.answer), asks, c.args)
			require.NoError(t, got.err)
			if got.res.Question == nil {
				require.Equal(t, c.want, got.res.Content)
				return
			}
			require.Equal(t, c.want+"\n"+c.question, got.res.Question.Text)
			require.Len(t, s.calls(), calls)
			require.Equal(t, first.State, got.res.Question.State)
		})
	}
}

// Only one question to a person can be answered. Other requests for input are errors for the model, and the tool is not called again.
func TestServerAsksWhatNobodyCanAnswer(t *testing.T) {
	t.Parallel()
	question := `{"method":"elicitation/create","params":{"message":"?"}}`
	for args, want := range map[string]string{
		`{}`: "the tool asks for input, but has no question",
		fmt.Sprintf(`{"a":%s,"b":%s}`, question, question):                                                       "the tool asks for 2 inputs at once, and only one question to a person can be answered here",
		`{"a":{"method":"roots/list","params":{}}}`:                                                              `the tool asks for the input "roots/list", which cannot be given here`,
		`{"a":{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"file:///etc/passwd"}}}`: "the tool asks a person to open an address that is no web address",
		`{"a":{"method":"elicitation/create","params":{"mode":"dream","message":"?"}}}`:                          `the tool asks a person in the mode "dream", which is not supported here`,
	} {
		s := newSite(t, &sdk.StreamableHTTPOptions{Stateless: true})
		got := <-start(t.Context(), find(t, s.connect(nil), "ask"), args)
		require.NoError(t, got.err)
		require.Equal(t, tool.Result{Content: want, IsError: true}, got.res)
		require.Len(t, s.calls(), 1)
	}
}

// A server of an earlier protocol version would ask during a call. Only a server of a later version gets the capability.
func TestEarlierServersDoNotAsk(t *testing.T) {
	t.Parallel()
	s := newSite(t, &sdk.StreamableHTTPOptions{Stateless: true})
	got := <-start(t.Context(), find(t, s.connect(nil), "offered"), "{}")
	require.NoError(t, got.err)
	require.Contains(t, got.res.Content, "elicitation")

	early := newSite(t, nil).connect(legacy)
	got = <-start(t.Context(), find(t, early, "offered"), "{}")
	require.NoError(t, got.err)
	require.NotContains(t, got.res.Content, "elicitation")
	got = <-start(t.Context(), find(t, early, "ask"), form(`{}`))
	require.NoError(t, got.err)
	require.True(t, got.res.IsError)
	require.Nil(t, got.res.Question)
}
