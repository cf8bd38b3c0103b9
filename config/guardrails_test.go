package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// A guardrail is a tool of an MCP server, or a Go function of a program, which Parse cannot know.
func TestGuardrailsOfTheFile(t *testing.T) {
	const head = "models: {m: {model: m}}\nmcp_servers: {safe: {url: \"http://127.0.0.1:1/mcp\"}}\nagents:\n  a:\n    model: m\n    guardrails:\n"
	cfg, err := Parse("agents.yaml", []byte(head+"      messages: [safe.judge, safe.tone]\n      answers: [own]\n"))
	require.NoError(t, err)
	require.Equal(t, agent.Guardrails{Messages: []string{"safe.judge", "safe.tone"}, Answers: []string{"own"}}, cfg.Agents["a"].Guardrails)
	require.EqualError(t, cfg.CheckTools(), `agents.yaml:8: agents.a.guardrails.answers[0]: "own" is not a tool of an MCP server; `+
		`write server.tool, because this worker has no guardrails of its own`)

	_, err = Parse("agents.yaml", []byte(head+"      messages: [save.judge, safe.*, safe.judge, 'a b', safe.judge]\n"))
	require.EqualError(t, err, `agents.yaml:7: agents.a.guardrails.messages[0]: "save" is not one of the mcp_servers; did you mean "safe"?
agents.yaml:7: agents.a.guardrails.messages[1]: "safe.*" is more than one tool; write server.tool
agents.yaml:7: agents.a.guardrails.messages[3]: "a b" is not the name of a tool; write calculator for a built-in tool, server.tool for one tool of an MCP server, server.* for all
agents.yaml:7: agents.a.guardrails.messages[4]: "safe.judge" is given twice; remove one`)
}
