package cli_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// symptom is a line in the output of `starter doctor --json`.
type symptom struct {
	Check, Level, Finding, Cure string
	Commands                    []string
}

// doctor runs `starter doctor`, and asserts its exit code and that whatever is wrong has a cure. It returns the findings of each check.
func doctor(w *world.World, code int, args ...string) map[string][]symptom {
	w.T.Helper()
	out, errs, got := w.Starter(append([]string{"doctor", "--json", "--config", w.Config}, args...)...)
	require.Equal(w.T, code, got, "%s\n%s", out, errs)
	all := map[string][]symptom{}
	for _, s := range world.Lines[symptom](w.T, out) {
		require.Contains(w.T, []string{"ok", "warning", "problem", "unchecked"}, s.Level)
		require.Equal(w.T, s.Level == "warning" || s.Level == "problem", s.Cure != "", "%+v", s)
		all[s.Check] = append(all[s.Check], s)
	}
	return all
}

// having returns the findings with this level.
func having(all map[string][]symptom, level string) (found []symptom) {
	for _, of := range all {
		found = append(found, slices.DeleteFunc(slices.Clone(of), func(s symptom) bool { return s.Level != level })...)
	}
	return found
}

// starter doctor finds what is wrong with a server of its own, one thing after the other, and the command that it names cures it.
func TestDoctorFindsWhatIsWrongAndWhatCuresIt(t *testing.T) {
	t.Parallel()
	server, err := devserver.Start(t.Context(), devserver.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[len(req.Messages)-1].Content == "fail" {
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Message: "no key"}
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	w.MoveTo(server)

	// No worker: the task queue of the configuration and that of an agent are not served. Everything else is made anyway.
	w.Must("run", "--detach", "--config", w.Config, "--task-queue", "elsewhere", "--id", t.Name()+"-lost", "-a", "x", "hi")
	var found map[string][]symptom
	w.Eventually("Temporal lists the agent", func() bool {
		found = doctor(w, 11)
		return len(found["workers"]) == 2
	})
	require.Contains(t, found["workers"][0].Finding, "no worker serves the task queue "+w.Queue)
	require.Contains(t, found["workers"][0].Cure, "./cmd/worker")
	require.Contains(t, found["workers"][1].Finding, "no worker serves the task queue elsewhere, which has 1 agent that runs")
	require.Len(t, having(found, "problem"), 2)
	w.TerminateAgent(t.Name() + "-lost")
	w.Eventually("Temporal lists its end", func() bool { return w.List()["lost"] == "terminated" })

	// All is well with a worker, except that this server deletes agents after a day, and has no search attributes.
	w.Worker()
	w.Must("run", "--id", t.Name(), "-a", "x", "--task-queue", w.Queue, "hi")
	before := len(w.Model.Requests())
	w.Eventually("Temporal lists the agent", func() bool { return w.List()[t.Name()] == "completed" })
	found = doctor(w, 0)
	require.Len(t, found, 15)
	require.Equal(t, []string{"temporal operator namespace update --namespace default --retention 30d --address " + server.Address()}, found["retention"][0].Commands)
	require.Len(t, having(found, "warning"), 2, "%+v", found)
	require.Empty(t, having(found, "unchecked"))
	require.Contains(t, found["workers"][0].Finding, w.Queue+": 1 worker")
	require.Contains(t, found["models"][0].Finding, w.Model.URL[:strings.LastIndex(w.Model.URL, "/")])
	require.Len(t, w.Model.Requests(), before, "no model was asked")
	require.Contains(t, doctor(w, 0, "--call-models")["models"][0].Finding, "the model main answers")
	require.Len(t, w.Model.Requests(), before+1)

	// The search attributes come by the command that the finding names.
	require.Contains(t, found["attributes"][0].Finding, "ReagentAgent, ReagentCost, ReagentReason, ReagentStatus, ReagentWaitingFor")
	require.Equal(t, []string{"starter setup"}, found["attributes"][0].Commands)
	w.Must("setup")
	w.Eventually("the namespace has the attributes", func() bool { return doctor(w, 0)["attributes"][0].Level == "ok" })

	// An agent that is held is told with the command that lists it.
	_, _, code := w.Starter("run", "--chat", "--id", t.Name()+"-held", "-a", "x", "--task-queue", w.Queue, "fail")
	require.Equal(t, 3, code)
	w.Eventually("the agent is held", func() bool {
		found = doctor(w, 0)
		return found["held"][0].Level == "warning"
	})
	require.Contains(t, found["held"][0].Finding, "1 agent is held")
	require.Equal(t, "starter list --where held", found["held"][0].Commands[0])
	require.Equal(t, []string{t.Name() + "-held"}, w.Listed("--where", "held"))

	// Without the namespace, or the server, the configuration and the models are still checked.
	found = doctor(w, 11, "--namespace", "nowhere")
	require.Equal(t, "problem", found["namespace"][0].Level)
	require.Contains(t, found["namespace"][0].Commands[0], "temporal operator namespace create --namespace nowhere")
	require.Equal(t, "unchecked", found["held"][0].Level)
	require.Len(t, having(found, "problem"), 1)
	require.Equal(t, "ok", found["models"][0].Level)
	found = doctor(w, 5, "--address", "127.0.0.1:1")
	require.Equal(t, "problem", found["connection"][0].Level)
	require.Equal(t, "unchecked", found["people"][0].Level)
	require.Equal(t, "ok", found["configuration"][0].Level)

	// A model that is not there, and a mistake in the file.
	yaml, err := os.ReadFile(w.Config)
	require.NoError(t, err)
	w.WriteConfig(strings.Replace(string(yaml), w.Model.URL, "http://127.0.0.1:1/v1", 1))
	require.Equal(t, "problem", doctor(w, 11)["models"][0].Level)
	w.WriteConfig(string(yaml) + "    tools: [nothing]\n")
	require.Contains(t, doctor(w, 11)["configuration"][0].Finding, "nothing")
}

// A codec server with another key than that of the workers cannot decode the agents. starter doctor says so.
func TestDoctorFindsAWrongKey(t *testing.T) {
	right, other := world.ServeCodec(), world.ServeCodec()
	defer right.Close()
	defer other.Close()
	world.UseCodec(right, t.Setenv)
	server, err := devserver.Start(t.Context(), devserver.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	w := world.New(t, world.Counting, nil, "")
	w.MoveTo(server)
	w.Worker()
	w.Must("run", "--id", t.Name(), "-a", "x", "--task-queue", w.Queue, "hi")
	codec := func() symptom {
		out, _, _ := w.Starter("doctor", "--json", "--config", w.Config)
		for _, s := range world.Lines[symptom](t, out) {
			if s.Check == "codec" {
				return s
			}
		}
		return symptom{}
	}
	w.Eventually("Temporal lists the agent", func() bool { return codec().Level == "ok" })
	require.Contains(t, codec().Finding, "with the codec server")

	world.UseCodec(other, t.Setenv)
	require.Equal(t, "problem", codec().Level)
	require.Contains(t, codec().Finding, "cannot be read with the codec server")
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "")
	t.Setenv("TEMPORAL_CODEC_AUTH", "")
	require.Equal(t, "problem", codec().Level)
	require.Contains(t, codec().Cure, "TEMPORAL_CODEC_ENDPOINT")
	world.UseCodec(right, t.Setenv)
	require.Equal(t, "ok", codec().Level)
}
