package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/gateway"
	"github.com/reagent-dev/reagent/gateway/access"
	"github.com/reagent-dev/reagent/internal/app/front"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

// sessionSecretEnv has the secret of the page's cookies, which all replicas share.
const sessionSecretEnv = "REAGENT_SESSION_SECRET"

func newServe(g *session.Flags) *cobra.Command {
	var o front.Options
	var accessFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Let OpenAI clients and people in a browser talk to the agents",
		Long: `serve answers OpenAI's API until Ctrl-C: each agent of the configuration is a model. At the
root, it has a page for people, with an inbox for approvals and questions. It keeps nothing, so any number of replicas may run behind one address, and all of them may
be killed at any time: the agents are in Temporal. See docs/gateway.md.

It answers POST /v1/chat/completions, /v1/responses, /v1/conversations and GET /v1/models,
and GET /healthz and /readyz for probes. The base URL for clients is printed.

Without --access, it listens on this machine only, and every program on it may use it. The
file of --access has hashes of API keys, and says which OIDC tokens are accepted. A new key
and its entry for the file: "starter serve key NAME".`,
		Example: `  starter serve
  starter serve --listen 127.0.0.1:0 --json
  starter serve --listen 0.0.0.0:8090 --access access.yaml --tls-cert cert.pem --tls-key key.pem`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (o.CertFile == "") != (o.KeyFile == "") {
				return exit.Errorf(exit.Usage, "--tls-cert and --tls-key belong together: give both, or leave out both")
			}
			if o.Gateway.Ping < 0 || o.Drain < 0 {
				return exit.Errorf(exit.Usage, "--ping and --drain must not be negative")
			}
			agents, err := g.Definitions()
			if err != nil {
				return err
			}
			models := make([]gateway.Agent, 0, len(agents))
			names := make([]string, 0, len(agents))
			for _, a := range agents {
				models = append(models, gateway.Agent{Name: a.Name, Description: a.Description})
				names = append(names, a.Name)
			}
			return g.Serve(cmd.Context(), func(ctx context.Context, temporal sdk.Client, c *client.Client) error {
				o.Gateway.Client, o.Gateway.Namespace = c, g.Namespace
				o.Gateway.Agents = func() []gateway.Agent { return models }
				o.Access.File, o.Access.SessionSecret = accessFile, []byte(os.Getenv(sessionSecretEnv))
				o.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
				o.Ready = func(ctx context.Context) error {
					_, err := temporal.CheckHealth(ctx, &sdk.CheckHealthRequest{})
					return err
				}
				o.WebUI = g.WebUI(ctx)
				server, err := front.New(ctx, o)
				if errors.Is(err, access.ErrOpen) {
					return exit.Errorf(exit.Usage, "--listen %s: %w", o.Listen, err)
				}
				if err != nil {
					return exit.Errorf(exit.Usage, "%w", err)
				}
				if asJSON {
					err = object.Print(cmd.OutOrStdout(), object.Gateway{Address: server.Address(), BaseURL: baseURL(server, o), Agents: names})
				} else {
					_, err = fmt.Fprint(cmd.OutOrStdout(), serveGreeting(server, o, names))
				}
				if err != nil {
					return err
				}
				return server.Serve(ctx)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8090", "`host:port` at which to listen; port 0 picks a free one")
	f.StringVar(&accessFile, "access", "", "`file` that says who may use the server (default: this machine only)")
	f.StringArrayVar(&o.Access.Origins, "origin", nil, "`URL` of a web page that may use the API, without a path; repeatable")
	f.BoolVar(&o.Access.HTTPS, "https", false, "clients reach the server by HTTPS, through a proxy")
	f.StringVar(&o.CertFile, "tls-cert", "", "`file` with the certificate, for HTTPS; needs --tls-key")
	f.StringVar(&o.KeyFile, "tls-key", "", "`file` with the private key of the certificate")
	f.StringArrayVar(&o.Gateway.ConversationHeaders, "conversation-header", nil, "`name` of a header with the client's ID of the conversation; repeatable\n(default: "+strings.Join(gateway.DefaultConversationHeaders, ", ")+")")
	f.DurationVar(&o.Gateway.Ping, "ping", 15*time.Second, "`time` after which a silent stream gets a comment")
	f.BoolVar(&o.Gateway.HangUpStops, "interrupt-on-hang-up", false, "interrupt the turn of a client that hangs up")
	f.BoolVar(&o.Gateway.Hold, "hold-text", false, "send text only when it is recorded, so that no stream ends because a reply was lost")
	f.DurationVar(&o.Drain, "drain", 10*time.Second, "`time` that open requests get after Ctrl-C")
	f.BoolVar(&asJSON, "json", false, "print an object with the address when the server runs")
	cmd.AddCommand(newServeKey())
	return cmd
}

func baseURL(server *front.Server, o front.Options) string {
	scheme := "http"
	if o.CertFile != "" {
		scheme = "https"
	}
	return scheme + "://" + server.Address() + "/v1"
}

func serveGreeting(server *front.Server, o front.Options, names []string) string {
	clients := "all programs on this machine, with any key"
	if o.Access.File != "" {
		clients = "whoever has a key or a token that " + o.Access.File + " accepts"
	}
	return fmt.Sprintf("Page      %s\nBase URL  %s\nModels    %s\nClients   %s\nReady.\n", strings.TrimSuffix(baseURL(server, o), "v1"), baseURL(server, o), strings.Join(names, ", "), clients)
}

func newServeKey() *cobra.Command {
	var grant access.Grant
	var scopes []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "key NAME",
		Short: "Make an API key for the gateway",
		Long: `key prints a new API key, and its entry for the file of --access. The file has only a hash
of the key, so the key is shown once: give it to whoever is to have it.`,
		Example: `  starter serve key alice
  starter serve key ci --agents 'support-*' --scopes talk,read --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range scopes {
				grant.Scopes = append(grant.Scopes, access.Scope(s))
			}
			secret, entry, err := access.NewKey(args[0], grant)
			if err != nil {
				return exit.Errorf(exit.Usage, "%w", err)
			}
			if asJSON {
				return object.Print(cmd.OutOrStdout(), object.APIKey{Key: secret, Entry: entry})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nAdd this below `keys:` in the file of --access:\n\n%s\n", secret, strings.TrimRight(entry, "\n"))
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&grant.Agents, "agents", []string{"*"}, "`names` of agents, or patterns such as support-*")
	f.StringSliceVar(&scopes, "scopes", []string{"talk", "read", "approve"}, "`scopes` of the key")
	f.BoolVar(&grant.All, "all", false, "the key sees the conversations of other callers, too")
	f.BoolVar(&asJSON, "json", false, "print an object with the key and its entry")
	return cmd
}
