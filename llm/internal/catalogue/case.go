// Package catalogue reads the catalogues of responses in testdata/quirks (package openai) and testdata/wire (package llm), plays the
// endpoint of a case, and judges what a client makes of it. Only tests use this package.
package catalogue

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// Case has the responses of an endpoint, and what a client has to make of them. The READMEs beside the cases describe the fields.
type Case struct {
	Name string
	// Wire is the API: "chat", "responses" or "anthropic". Empty means "chat".
	Wire string
	// Modes are the kinds of responses for which the client asks: "stream" for a streamed one, "whole" for one that is not.
	Modes []string
	Response
	// Then has the responses to later requests. The last one is repeated.
	Then   Responses
	Params struct {
		ReasoningEffort string          `json:"reasoning_effort"`
		MaxOutputTokens int             `json:"max_output_tokens"`
		Temperature     *float64        `json:"temperature"`
		TopP            *float64        `json:"top_p"`
		Seed            *int            `json:"seed"`
		ToolChoice      string          `json:"tool_choice"`
		OutputSchema    json.RawMessage `json:"output_schema"`
		Parallel        *bool           `json:"parallel_tool_calls"`
		Extra           map[string]json.RawMessage
	}
	Expect struct {
		Outcome string
		Class   []llm.Class
		Calls   []struct {
			Name      string
			Arguments json.RawMessage
		}
		Content       *string
		Reasoning     string
		Finish        string
		Usage         map[string]int
		Requests      int
		Resend        []string
		ResendNot     []string `json:"resend_not"`
		MinDelayMS    int64    `json:"min_delay_ms"`
		ErrorContains string   `json:"error_contains"`
	}
}

// Responses are a list of responses. In JSON, one response may stand without a list.
type Responses []Response

// UnmarshalJSON decodes a list or one response.
func (r *Responses) UnmarshalJSON(encoded []byte) error {
	if encoded[0] == '{' {
		*r = make(Responses, 1)
		return json.Unmarshal(encoded, &(*r)[0])
	}
	return json.Unmarshal(encoded, (*[]Response)(r))
}

// Read returns the cases in the files that match a pattern. A file has one or more JSON objects.
func Read(t testing.TB, pattern string) []Case {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	var cases []Case
	for _, name := range files {
		file, err := os.Open(name)
		require.NoError(t, err)
		for in := json.NewDecoder(file); ; {
			var c Case
			err := in.Decode(&c)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
			cases = append(cases, c)
		}
		require.NoError(t, file.Close())
	}
	return cases
}
