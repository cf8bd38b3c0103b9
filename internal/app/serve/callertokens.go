package serve

import (
	"cmp"
	"context"
	"fmt"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/callertoken"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// callerTokens returns the source of tokens for callers; nil if there is none. For MCP servers with caller_oauth, it exchanges what caller_tokens
// gives.
func callerTokens(cfg *config.Config) (tool.TokenSource, error) {
	given, err := givenTokens(cfg.CallerTokens)
	if err != nil {
		return nil, err
	}
	exchanged := map[string]tool.TokenSource{}
	for name, server := range cfg.MCPServers {
		if server.CallerOAuth != nil {
			exchanged[name] = callerOAuth(server).Source(given)
		}
	}
	if len(exchanged) == 0 {
		return given, nil
	}
	return func(ctx context.Context, r tool.TokenRequest) (tool.Token, error) {
		source := given
		if of, ok := exchanged[r.Audience]; ok {
			source = of
		}
		if source == nil {
			return tool.Token{}, &tool.TokenError{Reason: fmt.Sprintf("no tokens of callers are for %q: set caller_tokens in agents.yaml", r.Audience)}
		}
		return source(ctx, r)
	}, nil
}

// givenTokens returns the source that caller_tokens describes; nil if there is none.
func givenTokens(conf *config.CallerTokens) (tool.TokenSource, error) {
	if conf == nil {
		return nil, nil
	}
	if len(conf.Command) > 0 {
		return callertoken.Command(conf.Command, conf.Timeout), nil
	}
	_, headersErr := conf.ResolveHeaders() // says what is missing; each request reads them again
	connection, tlsErr := conf.TLS.Config()
	if err := cmp.Or(headersErr, tlsErr); err != nil {
		return nil, fmt.Errorf("caller_tokens: %w", err)
	}
	return callertoken.HTTP(conf.URL, conf.ResolveHeaders, connection, conf.Timeout), nil
}

func callerOAuth(server config.MCPServer) mcp.CallerOAuth {
	conf := server.CallerOAuth
	exchange := mcp.CallerOAuth{OAuth: oauthClient(conf.OAuth), Audience: conf.Audience, SubjectTokenType: conf.TokenType()}
	exchange.Resource = cmp.Or(conf.Resource, server.URL)
	if conf.Server != nil {
		exchange.Server = new(oauthClient(*conf.Server))
	}
	return exchange
}

func oauthClient(o config.OAuth) mcp.OAuth {
	return mcp.OAuth{ClientID: o.ClientID, ClientSecret: o.Secret, TokenURL: o.TokenURL, Scopes: o.Scopes, Resource: o.Resource}
}
