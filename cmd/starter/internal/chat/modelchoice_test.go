package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// The model that is chosen before the first message is that of the agent, so its messages do not bring it.
func TestModelIsChosenBeforeTheFirstMessage(t *testing.T) {
	s := newStage(t, false)
	s.keys("/model best", "enter")
	s.shows("The new agent is to use the model best.")
	require.Equal(t, "best", s.m.o.Start.Overrides.Model)
	s.keys("hello", "enter")
	s.report(idle)
	s.keys("thanks", "enter")
	require.Equal(t, []string{"start talk: hello", "send talk steer=false: thanks"}, s.asked)

	s = newStage(t, false)
	s.fail = client.ErrNoServer
	s.keys("hello", "enter", "/model best", "enter")
	s.shows("Not done: the first message is being sent")
	require.Empty(t, s.m.o.Start.Overrides.Model)
}

// The messages that begin a turn bring the model that the person has chosen.
func TestMessagesBringTheChosenModel(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.keys("/model best", "enter", "hello", "enter")
	s.shows("The turns that your next messages begin use the model best.")
	s.report(working)
	s.keys("faster", "enter")
	require.NotContains(t, s.screen(), "This turn keeps its model", "it has the chosen one")
	s.keys("/model cheap", "enter", "slower", "enter")
	s.shows("This turn keeps its model. The next one uses the model cheap.")
	s.report(client.Progress{Status: client.Held, WaitsFor: client.WaitsForMessage})
	s.keys("go on", "enter")
	s.m.refreshed(client.Snapshot{Models: []llm.Candidate{{Name: "cheap", Model: "cheap"}}}, nil, nil)
	s.keys("/model", "enter")
	s.shows("The model is cheap. Your next messages use the model cheap.")
	s.report(idle)
	s.keys("/model -", "enter", "thanks", "enter")
	require.Equal(t, []string{
		"send talk steer=false model=best: hello", "send talk steer=true: faster", "send talk steer=true: slower",
		"send talk steer=false model=cheap: go on", "send talk steer=false: thanks",
	}, s.asked)
}

func TestModelThatIsRefusedIsCorrected(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.keys("/model two words", "enter", "ctrl+u")
	s.shows("Not done: /model takes the name of one model")
	s.keys("/model bset", "enter", "hello", "enter")
	s.report(client.Progress{Status: client.Held, WaitsFor: client.WaitsForRelease, Snapshot: &client.Snapshot{Class: protocol.BadOverrides}})
	s.keys("/model best", "enter", "hello", "enter")
	s.report(client.Progress{Status: client.Held, WaitsFor: client.WaitsForRelease, Snapshot: &client.Snapshot{Class: string(llm.QuotaExceeded)}})
	s.keys("/model cheap", "enter", "go on", "enter")
	s.shows("This turn keeps its model.")
	require.Equal(t, []string{"send talk steer=false model=bset: hello", "send talk steer=false model=best: hello", "send talk steer=true: go on"}, s.asked)
}

// A name that the agent may not use is refused before a message brings it. If the names are not known, a worker refuses it.
func TestModelIsOneThatTheAgentMayUse(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.m.refreshed(client.Snapshot{Models: []llm.Candidate{{Name: "cheap", Model: "cheap"}}, ModelChoices: []string{"cheap", "best"}}, nil, nil)
	s.keys("/model bset", "enter")
	s.shows("Not done: the agent may not use the model bset; choose one of cheap, best.", "\n> /model bset\n")
	s.keys("esc", "/model", "enter")
	s.shows("Models to choose from:\n    cheap  (in use)\n    best\n")
	s.keys("/model ")
	s.shows("» cheap  (in use)\n  best\n")
	s.keys("b", "tab", "enter")
	s.shows("The turns that your next messages begin use the model best.")
	s.keys("/model", "enter")
	s.shows("    cheap\n    best  (chosen)\n")
	s.keys("hello", "enter")
	require.Equal(t, []string{"send talk steer=false model=best: hello"}, s.asked)
}

func TestAnswerBringsNoModel(t *testing.T) {
	s := asking(t)
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("q", "ask_user", `{"question":"Which?"}`, true)})
	s.keys("/model best", "enter", "blue", "enter")
	require.NotContains(t, s.screen(), "This turn keeps its model")
	require.Equal(t, []string{"decide talk q approve=false remember= reason= result=blue"}, s.asked)
}

// A fork has the models of its agent, so the choice stays. Another agent may not have the model.
func TestChosenModelStaysWithTheAgent(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.keys("/model best", "enter", "/fork", "enter")
	s.report(idle)
	s.keys("hello", "enter")
	require.Equal(t, "send fork steer=false model=best: hello", s.asked[1])
	s.m.outbox = nil
	s.run(s.m.open("other"))
	s.report(idle)
	s.keys("hello", "enter")
	require.Equal(t, "send other steer=false: hello", s.asked[2])
}

func TestModelIsChosenWithoutATerminal(t *testing.T) {
	a := newActor()
	_, notice, _ := a.plainly(t, "hello\n/model best\nwhat\n/model -\npay\nthanks\n/model cheap\nbye\n/approve\n")
	require.Equal(t, []string{
		"start talk: hello", "send talk steer=false model=best: what", "send talk steer=false: pay",
		"decide talk k-00000001 approve=true remember= reason= result=", "send talk steer=false: thanks", "send talk steer=false model=cheap: bye",
	}, a.asked, "/model holds for the messages behind it")
	require.Equal(t, 1, strings.Count(notice, "use the model best."))

	a = newActor()
	a.snap.ModelChoices = []string{"cheap", "best"}
	_, notice, _ = a.plainly(t, "hello\n/model bset\nwhat\n")
	require.Contains(t, notice, "Not done: the agent may not use the model bset; choose one of cheap, best.")
	require.Equal(t, []string{"start talk: hello", "send talk steer=false: what"}, a.asked)
}
