package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/internal/app/codecserver"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/encryption"
)

// codecAuthEnv has the credentials of the codec server, if no file has them.
const codecAuthEnv = "REAGENT_CODEC_AUTH"

func newCodecServer() *cobra.Command {
	var o codecserver.Options
	var authFile, certFile, keyFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "codec-server",
		Short: "Let Temporal's Web UI and CLI read encrypted agents",
		Long: `codec-server decrypts payloads for Temporal's Web UI and CLI, and encrypts what they send,
until Ctrl-C. It uses the keys of the workers: REAGENT_ENCRYPTION_KEYS_FILE,
REAGENT_ENCRYPTION_KEYS or REAGENT_ENCRYPTION_KEYS_COMMAND. It needs no Temporal server.

It answers POST /encode and /decode, also below the name of a namespace, and GET /healthz.
Of all web pages, only those of --origin may use it.

Whoever reaches the server without credentials could read everything, so it then listens
on this machine only. The credentials are in --auth-file, or in REAGENT_CODEC_AUTH: on each
line, "Bearer TOKEN" or "Basic USER:PASSWORD". Clients send one of them: see
docs/encryption.md for the settings of the Web UI and the CLI.`,
		Example: `  starter codec-server --origin http://localhost:8233
  starter codec-server --decode-only --json
  starter codec-server --listen 0.0.0.0:8081 --auth-file auth.txt --tls-cert cert.pem --tls-key key.pem`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := encryption.FromEnvironment(cmd.Context())
			switch {
			case err != nil:
				return exit.Errorf(exit.Usage, "%w", err)
			case keys == nil:
				return exit.Errorf(exit.Usage, "there are no keys: set %s to a file with them, as for the workers", encryption.KeysFileEnv)
			case (certFile == "") != (keyFile == ""):
				return exit.Errorf(exit.Usage, "--tls-cert and --tls-key belong together: give both, or leave out both")
			}
			if o.Auth, err = codecAuth(authFile); err != nil {
				return exit.Errorf(exit.Usage, "%w", err)
			}
			if err := codecserver.CheckOrigins(o.Origins); err != nil {
				return exit.Errorf(exit.Usage, "%w", err)
			}
			o.Codec = keys.Codec
			server, err := codecserver.New(cmd.Context(), o)
			if errors.Is(err, codecserver.ErrOpen) {
				return exit.Errorf(exit.Usage, "%w", err)
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = object.Print(cmd.OutOrStdout(), object.CodecServer{Address: server.Address(), KeyID: keys.Active, KeyIDs: keys.IDs})
			} else {
				_, err = fmt.Fprint(cmd.OutOrStdout(), codecGreeting(server, keys, o, certFile != ""))
			}
			if err != nil {
				return err
			}
			return server.Serve(cmd.Context(), certFile, keyFile)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8081", "`host:port` at which to listen; port 0 picks a free one")
	f.StringArrayVar(&o.Origins, "origin", nil, "`URL` of a Web UI that may use the server, without a path; repeatable")
	f.StringVar(&authFile, "auth-file", "", "`file` with the credentials, one on each line (default: $"+codecAuthEnv+")")
	f.StringVar(&certFile, "tls-cert", "", "`file` with the certificate, for HTTPS; needs --tls-key")
	f.StringVar(&keyFile, "tls-key", "", "`file` with the private key of the certificate")
	f.BoolVar(&o.DecodeOnly, "decode-only", false, "do not encrypt, so that nobody can write as a worker with the server")
	f.BoolVar(&asJSON, "json", false, "print an object with the address when the server runs")
	return cmd
}

// codecAuth returns nil if there are no credentials.
func codecAuth(file string) (codecserver.Auth, error) {
	text, where := os.Getenv(codecAuthEnv), codecAuthEnv
	if file != "" {
		read, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--auth-file: the file with the credentials cannot be read: %w", err)
		}
		text, where = string(read), "--auth-file "+file
	} else if text == "" {
		return nil, nil
	}
	auth, err := codecserver.ParseAuth(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return auth, nil
}

func codecGreeting(server *codecserver.Server, keys *encryption.Keys, o codecserver.Options, withTLS bool) string {
	scheme, clients := "http", "whoever has the credentials"
	if withTLS {
		scheme = "https"
	}
	if len(o.Auth) == 0 {
		clients = "all programs on this machine"
	}
	return fmt.Sprintf("Codec server  %s://%s\nEncrypts      with %s\nDecrypts      with %s\nWeb UIs       %s\nClients       %s\nReady.\n", scheme, server.Address(), keys.Active,
		strings.Join(keys.IDs, ", "), cmp.Or(strings.Join(o.Origins, ", "), "none (name one with --origin)"), clients)
}
