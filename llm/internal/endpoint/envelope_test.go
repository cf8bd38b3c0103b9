package endpoint

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// A body is an error only if it says so. The error has the words of the endpoint.
func TestOnlyAnEnvelopeThatSaysSoIsAnError(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"code":500,"msg":"404 NOT_FOUND","success":false}`:                          "404 NOT_FOUND",
		`{"code":"7","message":"no"}`:                                                 "no",
		`{"success":false,"message":"no"}`:                                            "no",
		`{"choices":null,"base_resp":{"status_code":1004,"status_msg":"login fail"}}`: "login fail",
		`{"choices":[{}],"base_resp":{"status_code":1027,"status_msg":"sensitive"}}`:  "sensitive",

		`{"choices":[{}],"base_resp":{"status_code":0,"status_msg":"success"}}`: "",
		`{"choices":[{}],"base_resp":"x","code":5,"msg":"x","success":false}`:   "",
		`{"code":0,"msg":"ok","data":{}}`:                                       "",
		`{"code":"200","message":"success","data":{}}`:                          "",
		`{"code":5}`:                    "",
		`{"success":false}`:             "",
		`{"base_resp":[1]}`:             "",
		`{"message":"x"}`:               "",
		`{"success":null,"msg":"x"}`:    "",
		`{"success":[false],"msg":"x"}`: "",
	} {
		err := Response{Status: http.StatusOK, Header: http.Header{}, Body: []byte(body)}.Failure()
		if want == "" {
			require.NoError(t, err, body)
		} else {
			require.ErrorContains(t, err, want, body)
		}
	}
}

// A reply of another API is no reason to ask again: the URL is wrong.
func TestReplyOfAnotherAPINamesTheAPI(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"type":"message","content":[]}`:                          "Messages API",
		`{"type":"message_start","message":{}}`:                    "Messages API",
		`{"object":"response","output":[]}`:                        "Responses API",
		`{"type":"response.created","response":{}}`:                "Responses API",
		`{"candidates":[{"content":{}}]}`:                          "generateContent",
		`{"model":"m","message":{"content":"Sunny."},"done":true}`: "Ollama",
		`{"type":"ping"}`:                                          "",
		`{"object":"chat.completion"}`:                             "",
		`{"done":true}`:                                            "",
		`[]`:                                                       "",
	} {
		err := Response{Status: http.StatusOK, Body: []byte(body)}.Foreign(Chat)
		if want == "" {
			require.NoError(t, err, body)
			continue
		}
		require.ErrorContains(t, err, want, body)
		require.ErrorIs(t, err, &llm.Error{Class: llm.NotFound})
	}
}
