package progress

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

func asks(at int64, calls ...llm.ToolCall) client.Progress {
	return client.Progress{Message: &agent.Message{Time: at, Message: llm.Message{Role: llm.Assistant, ToolCalls: calls}}}
}

func answers(at int64, id, content string) client.Progress {
	return client.Progress{Message: &agent.Message{Time: at, Message: llm.Message{Role: llm.Tool, ToolCallID: id, Content: content}}}
}

var slowCalls = []llm.ToolCall{{ID: "1", Name: "read_file"}, {ID: "2", Name: "search_files"}}

// A user who waits sees what the agent works on, for how long, how many words have arrived, and the attempt.
func TestNewcomerSeesOnATerminalWhatTheAgentWorksOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTerminal(t, 60, 10)
		words := &preview{out: s, size: s.size}
		wait := NewNotice(words.beside(s), "q", 0)
		wait.live = words
		defer wait.Stop()
		running := client.Progress{Status: client.Running}
		see := func(p client.Progress, after time.Duration) string {
			time.Sleep(after) // of the bubble's clock
			wait.Update(p)
			return s.text()
		}
		require.Equal(t, "… the model: 1 s", see(running, time.Second))
		require.Equal(t, "… the model: 2 s", see(running, time.Second))
		require.Equal(t, "one two three\n… the model: 3 s, 3 words", see(speaks("one two three"), time.Second))
		failed := running
		failed.Retry = &client.Retry{What: "model", Class: "Overloaded", Message: "model: the endpoint is overloaded (HTTP 503)", Attempt: 2, Limit: 8, Next: time.Now().Add(5 * time.Second)}
		require.Equal(t, "… the model: 4 s, attempt 2 of 8 starts in 4 s", see(failed, time.Second))
		again := client.Progress{Status: client.Running, PartialText: &client.PartialText{Text: "other words", Said: 1100, Attempt: 2}}
		require.Equal(t, "(attempt 2) …other words\n… the model: 1 min 4 s, about 200 words, attempt 2", see(again, time.Minute))
		see(asks(0, slowCalls...), 0)
		require.Equal(t, "… read_file, search_files: 2 s", see(running, 2*time.Second))
		see(answers(0, "1", "x"), 0)
		require.Equal(t, "… search_files: 1 s", see(running, time.Second))
		require.Equal(t, "… search_files: 1 s", see(client.Progress{NoServer: true}, time.Second), "nothing is known of it")
		see(client.Progress{Message: &agent.Message{Message: llm.Message{Role: llm.Assistant, Content: "done"}}}, 0)
		require.Equal(t, "… the end of the agent: 1 s", see(running, time.Second), "a hook may be slow")
		require.Empty(t, see(client.Progress{Status: client.Completed}, 0))
		require.Equal(t, 1, strings.Count(s.text()+"\n", "\n"), "nothing of it stays")
	})
}

// Without a terminal, the output is whole lines, at most one in ten seconds.
func TestNewcomerSeesLinesWhereThereIsNoTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		wait := NewNotice(&out, "q", 0)
		defer wait.Stop()
		for range 50 {
			time.Sleep(500 * time.Millisecond) // of the bubble's clock
			wait.Update(speaks("one two"))
		}
		require.Equal(t, "Waiting for the model: 10 s, 2 words\nWaiting for the model: 20 s, 2 words\n", out.String())
		wait.Update(asks(0, slowCalls...))
		for range 19 {
			time.Sleep(500 * time.Millisecond) // of the bubble's clock
			wait.Update(client.Progress{Status: client.Running})
		}
		require.Equal(t, 2, strings.Count(out.String(), "\n"), "what is new came less than ten seconds ago")
	})
}

// A user whose agent waits for its definition is told that, and not that it waits for the model. If no worker has the agent or the model,
// the user is told once, with what the workers have.
func TestNewcomerIsToldWhatTheFirstStepWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, live := range []bool{false, true} {
			s := newTerminal(t, 400, 10)
			words := &preview{out: s, size: s.size}
			wait := NewNotice(words.beside(s), "q", time.Minute)
			defer wait.Stop()
			if wait.ID = "a"; live {
				wait.live = words
			}
			see := func(p client.Progress, n int) string {
				for range n {
					time.Sleep(time.Second) // of the bubble's clock
					wait.Update(p)
				}
				return s.text()
			}
			text := see(client.Progress{Status: client.Running, LoadsDefinition: true}, 10)
			require.Contains(t, text, "the agent's definition: 10 s")
			misspelt := &client.Retry{What: "definition", Class: protocol.UnknownAgent, Message: `there is no agent "y" on this worker, which serves x`}
			for misspelt.Attempt = range 300 {
				text = see(client.Progress{Status: client.Running, LoadsDefinition: true, Retry: misspelt}, 1)
			}
			require.Equal(t, 1, strings.Count(text, `there is no agent "y" on this worker, which serves x`))
			require.Contains(t, text, "This command waits 1m0s for it (--wait).")
			require.Equal(t, live, strings.Contains(text, "… a worker that has the agent: 5 min 10 s"), text)
			missing := &client.Retry{What: "model", Class: protocol.Missing, Message: `the model "m" is not on this worker; another worker of the task queue may have it`}
			for missing.Attempt = range 100 {
				text = see(client.Progress{Status: client.Running, Retry: missing}, 1)
			}
			require.Equal(t, 1, strings.Count(text, `the model "m" is not on this worker`))
			require.Equal(t, live, strings.Contains(text, "… a worker that has the model: 6 min 50 s"), text)
			require.NotContains(t, text, "for the model")
		}
	})
}

func TestTranscriptTellsHowLongAToolTook(t *testing.T) {
	var out bytes.Buffer
	show := NewTranscript(&out, printable.Text)
	for _, p := range []client.Progress{asks(1000, slowCalls...), answers(1050, "1", "quick"), answers(2300, "2", "slow")} {
		show.Message(*p.Message)
	}
	for _, p := range []client.Progress{asks(5000, slowCalls...), answers(76_000, "1", "long"), answers(4000, "2", "recalled")} {
		show.Message(*p.Message)
	}
	require.Equal(t, `  read_file 
  search_files 
  read_file → quick
  search_files → slow (1.3 s)
  read_file 
  search_files 
  read_file → long (1 min 11 s)
  search_files → recalled
`, out.String())
}
