package reagent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
)

// A plugin takes other options and says which agents have changed. After options with mistakes, it has what it had.
func TestReconfigureSaysWhichAgentsHaveChanged(t *testing.T) {
	o := valid()
	o.Agents = append(o.Agents, reagent.Agent{Name: "old", Model: "main"}, reagent.Agent{Name: "same", Model: "main"})
	p, err := reagent.New(t.Context(), offline(t), o)
	require.NoError(t, err)
	defer p.Close()

	next := valid()
	next.Models["best"] = reagent.Model{Name: "gpt-4o"}
	next.Agents = []reagent.Agent{{Name: "clerk", Model: "best"}, {Name: "same", Model: "main"}, {Name: "new", Model: "main"}}
	wrong := next
	wrong.Agents = append([]reagent.Agent{{Name: "broken", Model: "none"}}, next.Agents...)
	_, err = p.Reconfigure(t.Context(), wrong)
	require.ErrorContains(t, err, `agent broken: there is no model "none"`)
	_, err = p.Reconfigure(t.Context(), reagent.Options{})
	require.ErrorContains(t, err, "define an agent")
	done, err := p.Reconfigure(t.Context(), next)
	require.NoError(t, err)
	require.Equal(t, reagent.Reconfigured{Changed: []string{"clerk"}, Added: []string{"new"}, Removed: []string{"old"}}, done)
	done, err = p.Reconfigure(t.Context(), next)
	require.NoError(t, err)
	require.Equal(t, reagent.Reconfigured{}, done)
}
