package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/llm"
)

// A turn that a limit ended has an exit code of its own for scripts, and a next step for people.
func TestStoppedTurnHasAnExitCodeOfItsOwn(t *testing.T) {
	require.NoError(t, ending{Status: client.Completed}.verdict())
	require.NoError(t, ending{Status: client.Waiting}.verdict())
	for e, want := range map[ending]string{
		{ID: "a", Status: client.Completed, Stopped: "model_calls"}: "limits.model_calls of its configuration; the limit starts again with the next message: go on with `starter fork a --message TEXT`",
		{ID: "a", Status: client.Waiting, Stopped: "time"}:          "limits.time of its configuration; the limit starts again with the next message: go on with `starter send a TEXT`",
		{ID: "a", Status: client.Waiting, Stopped: "cost"}:          "limits.cost of its configuration; raise limits.cost, restart the worker, then `starter reload a` and `starter send a TEXT`",
		{ID: "a", Status: client.Completed, FinishReason: "length"}: "the model ended it with the finish reason length; raise max_output_tokens",
	} {
		err := e.verdict()
		require.Equal(t, exit.Limit, exit.CodeOf(err), e)
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, exit.AgentFailed, exit.CodeOf(ending{ID: "a", Status: client.Held, Stopped: "model_calls"}.verdict()))
}

// After Ctrl-C, the command says that the agent goes on, and how to follow or end it.
func TestNewcomerInterruptsAndIsToldThatTheAgentGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failure := errors.New("some failure")
	require.Equal(t, failure, goesOn(ctx, failure, "a"))
	cancel()
	require.NoError(t, goesOn(ctx, nil, "a"))
	err := goesOn(ctx, failure, "a")
	require.EqualError(t, err, "interrupted; agent a goes on: follow it with `starter tail a`, end it with `starter cancel a`")
	require.Equal(t, exit.Interrupted, exit.CodeOf(err))
}

// The hints on an agent that has ended name a command that it can take.
func TestNewcomerIsToldHowToGoOnFromAnAgentThatHasEnded(t *testing.T) {
	for status, want := range map[client.Status]string{
		client.Completed: "starter fork a --message TEXT", client.Failed: "starter resume a", client.Cancelled: "starter resume a",
		client.Terminated: "starter resume a", client.TimedOut: "starter resume a",
	} {
		err := withExitCode(&client.ClosedError{Operation: "message", ID: "a", Status: status}, "q")
		require.ErrorContains(t, err, want)
		require.Equal(t, status == client.Completed, !strings.Contains(err.Error(), "resume"), status)
		require.Equal(t, exit.WrongState, exit.CodeOf(err))
	}
}

func TestWaitForAWorkerIsADurationOfAtLeastZero(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "90s": 90 * time.Second, "2m": 2 * time.Minute} {
		var limit time.Duration
		cmd := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
		addWait(cmd, &limit, time.Hour)
		require.Equal(t, time.Hour, limit)
		cmd.SetArgs([]string{"--wait", text})
		require.NoError(t, cmd.Execute())
		require.Equal(t, want, limit)
	}
	for _, text := range []string{"-1s", "long", "5"} {
		code, _, stderr := starter(t, "send", "a", "text", "--wait", text)
		require.Equal(t, exit.Usage, code)
		require.Contains(t, stderr, "--wait must be a duration")
	}
}

func TestUsageLineCountsSubAgentsAndNamesThePage(t *testing.T) {
	u := agent.Usage{Usage: llm.Usage{InputTokens: 10, OutputTokens: 2}, Cost: agent.Dollar / 100}
	u.Descendants = agent.Spending{Usage: llm.Usage{InputTokens: 5, OutputTokens: 1}, Cost: agent.Dollar / 100}
	require.Equal(t, "15 tokens in, 3 out, $0.0200  http://ui/x", usageLine(u, "http://ui/x"))
	require.Equal(t, "0 tokens in, 0 out", usageLine(agent.Usage{}, ""))
}

// On this machine, link returns an address only if a Web UI answers there.
func TestLinkIsOfAWebUIThatAnswers(t *testing.T) {
	ui := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	defer ui.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	require.True(t, answersAsUI(t.Context(), ui.URL))
	require.False(t, answersAsUI(t.Context(), other.URL))
	ui.Close()
	require.False(t, answersAsUI(t.Context(), ui.URL))

	t.Setenv(uiEnv, "")
	require.Empty(t, (&globals{address: "127.0.0.1:1", namespace: "n"}).link(t.Context(), "a"))
	require.Empty(t, (&globals{address: "example.com:7233", namespace: "n"}).link(t.Context(), "a"))
	require.Equal(t, "https://cloud.temporal.io/namespaces/n.acct/workflows/a",
		(&globals{address: "n.acct.tmprl.cloud:7233", namespace: "n.acct"}).link(t.Context(), "a"))
	t.Setenv(uiEnv, "https://ui.example/")
	require.Equal(t, "https://ui.example/namespaces/n/workflows/a%2Fb", (&globals{namespace: "n"}).link(t.Context(), "a/b"))
}
