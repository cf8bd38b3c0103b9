package serve

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/testkit/signon"
	"github.com/reagent-dev/reagent/tool"
)

// An MCP server with caller_oauth gets what its authorization servers give for the ID token of the caller, and any other one what caller_tokens
// gives. The resource is the URL of the server.
func TestTokensOfCallersAreExchangedForTheServersThatSaySo(t *testing.T) {
	login := signon.New()
	t.Cleanup(login.Close)
	t.Setenv("LOGIN_SECRET", signon.Secret)
	t.Setenv("GRANT_SECRET", signon.GrantSecret)
	client := fmt.Sprintf(`client_id: %s, client_secret: "${LOGIN_SECRET}", token_url: %q, scopes: [%s]`, signon.ClientID, login.Login(), signon.Scope)
	servers := fmt.Sprintf(`  till: {url: %q, caller_oauth: {%s, audience: %s}}
  store:
    url: %q
    caller_oauth: {%s, audience: %q, authorization_server: {client_id: %s, client_secret: "${GRANT_SECRET}", token_url: %q}}
`, signon.Resource, client, signon.Audience, signon.Resource, client, signon.Issuer, signon.ClientID, login.Grant())
	id := login.SignIn("ann")
	text := models + fmt.Sprintf(`caller_tokens: {command: [echo, '{"access_token":%q}']}
mcp_servers:
  far: {url: "http://127.0.0.1:1/mcp", caller_token: true}
%sagents: {a: {model: m, tools: [far.x, till.x, store.x]}}
`, id, servers)
	cfg, err := config.Parse("agents.yaml", []byte(text))
	require.NoError(t, err)
	options, err := agentOptions(cfg, Options{Stateful: "none"})
	require.NoError(t, err)
	require.Len(t, options.MCPServers, 3)
	for _, server := range options.MCPServers {
		require.True(t, server.CallerToken, server.Name)
		token, err := options.CallerTokens(t.Context(), tool.TokenRequest{Reference: "ann", Audience: server.Name})
		require.NoError(t, err, server.Name)
		require.Equal(t, server.Name == "far", token.Value == id)
	}
	require.Len(t, login.Tokens("access"), 2)
	require.Subset(t, cfg.Secrets(), []string{signon.Secret, signon.GrantSecret})

	cfg, err = config.Parse("agents.yaml", []byte(models+`mcp_servers:
  till: {url: "https://till.example.com/mcp", caller_oauth: {client_id: w, client_secret: "${LOGIN_SECRET}", token_url: "https://a.example.com", audience: a, subject_token_type: "urn:example:session"}}
agents: {a: {model: m, tools: [till.x]}}
`))
	require.NoError(t, err)
	options, err = agentOptions(cfg, Options{Stateful: "none"})
	require.NoError(t, err)
	_, err = options.CallerTokens(t.Context(), tool.TokenRequest{Reference: "ann", Audience: "a Go tool"})
	require.ErrorAs(t, err, new(*tool.TokenError), "no tokens are for it")
}
