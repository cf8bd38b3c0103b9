package reagenttest_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/reagenttest"
)

const key = "sk-1234567890abcdefghij"

// recording lets a part of a test run as with the flag -record.
func recording(t *testing.T, do func()) {
	require.NoError(t, flag.Set("record", "true"))
	defer func() { require.NoError(t, flag.Set("record", "false")) }()
	do()
}

// far returns the URL of a real endpoint that needs the key, and a function that returns how often it was asked.
func far(t *testing.T, model llm.Client) (url string, asked func() int) {
	served := llmtest.Func(model.Complete)
	handler := llmtest.Handler(served)
	server := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key || r.URL.Query().Get("api-version") != "2026" {
			http.Error(w, "no key or version", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Set-Cookie", "session="+key)
		handler.ServeHTTP(w, r)
	}))
	return server + "/v1?api-version=2026", func() int { return len(served.Requests()) }
}

func through(baseURL string) reagent.Options {
	o := shop(nil)
	o.Models = map[string]reagent.Model{"main": {Name: "gpt", BaseURL: baseURL, APIKey: key, NoStream: true}}
	o.Agents[0].Approval = nil
	return o
}

// What an endpoint has said is replayed without it, also on another stage and for another agent. The file has no secrets.
func TestRecordedEndpointIsReplayed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "far.json")
	url, asked := far(t, reagenttest.Script(call("price", `{"name":"cherry"}`), reagenttest.Say("Your key is "+key)))
	recording(t, func() {
		t.Run("record", func(t *testing.T) {
			endpoint := reagenttest.Recorded(t, file, url)
			run := reagenttest.New(t, through(endpoint.URL)).Run("clerk", "What is a cherry?")
			run.WantCalls("price")
			require.Len(t, endpoint.Requests(), 2)
		})
	})
	require.Equal(t, 2, asked())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, secret := range []string{key, "Authorization", "Cookie", "api-version"} {
		require.NotContains(t, string(text), secret)
	}
	for name, with := range stages {
		t.Run(name, func(t *testing.T) {
			endpoint := reagenttest.Recorded(t, file, url)
			with(t, through(endpoint.URL)).Run("clerk", "What is a cherry?").WantCalls("price").WantAnswer("Your key is [hidden]")
			require.Len(t, endpoint.Requests(), 2)
		})
	}
	require.Equal(t, 2, asked(), "nothing has asked the real endpoint again")
}

// Several answers to one request come in their order. A failure is replayed, too.
func TestRepeatedRequestGetsItsAnswersInOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "far.json")
	model, err := llmtest.ParseScript("x", []byte("fail Overloaded busy\nsay Now."))
	require.NoError(t, err)
	url, _ := far(t, model)
	recording(t, func() {
		t.Run("record", func(t *testing.T) {
			reagenttest.New(t, through(reagenttest.Recorded(t, file, url).URL)).Run("clerk", "Hello.").WantAnswer("Now.")
		})
	})
	run := reagenttest.New(t, through(reagenttest.Recorded(t, file, url).URL)).Run("clerk", "Hello.").WantAnswer("Now.")
	require.Equal(t, 1, run.Usage().Repeats.Attempts)
}

func TestRequestThatWasNotRecordedFailsTheTest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "far.json")
	require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.Recorded(t, file, "https://example.com/v1") }), "run the test with -record")
	require.NoError(t, os.WriteFile(file, []byte(`{"exchanges":[]}`), 0o600))
	said := fatal(t, func(t testing.TB) {
		run := reagenttest.New(t, through(reagenttest.Recorded(t, file, "https://example.com/v1").URL)).Run("clerk", "Hello.")
		require.Equal(t, "failed", string(run.Status()))
	})
	require.Contains(t, said, file+" has no answer to this request")
	require.Contains(t, said, "Hello.")
	require.NoError(t, os.WriteFile(file, []byte(`{"exchange":[]}`), 0o600))
	require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.Recorded(t, file, "https://example.com/v1") }), "record it again")
	recording(t, func() {
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.Recorded(t, file, "example.com") }), "must begin with http")
	})
}

func TestGoldenFileShowsTheFirstDifference(t *testing.T) {
	file := filepath.Join(t.TempDir(), "golden", "hello.txt")
	run := func(t testing.TB) *reagenttest.Agent {
		return reagenttest.New(t, shop(reagenttest.Script(reagenttest.Say("one\n\ntwo")))).Run("clerk", "Hello.")
	}
	require.Contains(t, fatal(t, func(t testing.TB) { run(t).Golden(file) }), "run the test with -update")
	require.NoError(t, flag.Set("update", "true"))
	run(t).Golden(file)
	require.NoError(t, flag.Set("update", "false"))
	run(t).Golden(file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "user: Hello.\nassistant: one\n\n  two\n", string(text))
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "two", "three", 1)), 0o600))
	require.Contains(t, fatal(t, func(t testing.TB) { run(t).Golden(file) }), "in line 4:\n-   three\n+   two")
}
