package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/webhook"
)

// Hook receives notifications when an agent waits for a person, is held, or ends: either a URL or a command.
type Hook struct {
	// URL receives the notifications as POST requests; empty if `Command` is set. It may refer to environment variables and files: see
	// [Hook.ResolveURL].
	URL string
	// SecretEnv is the name of the environment variable that has the secret for the signatures of requests. If SecretEnv and
	// `SecretFile` are empty, requests have no signature.
	SecretEnv string
	// SecretFile is the path of a file that contains the secret. A valid configuration has at most one of SecretFile and `SecretEnv`.
	SecretFile string
	// Headers are sent with every request to the URL. Values may refer to environment variables and files: see [Hook.ResolveHeaders].
	Headers map[string]string
	// Command is the program and its arguments; nil if `URL` is set. It gets a notification on stdin.
	Command []string
	// Env has environment variables for the command, in addition to a few variables of the worker, such as HOME and PATH. Values may
	// refer to environment variables and files: see [Hook.ResolveEnv].
	Env map[string]string
	// On lists the occasions about which the hook is notified: "waits", "held" and "ended". Defaults to all.
	On []string
	// Timeout limits one attempt. Zero means the default of package [github.com/reagent-dev/reagent/activities].
	Timeout time.Duration
}

// Occasions returns the field On in the type that package agent uses. It does not check the values, because [Parse] has.
func (h Hook) Occasions() []agent.Occasion {
	occasions := make([]agent.Occasion, len(h.On))
	for i, on := range h.On {
		occasions[i] = agent.Occasion(on)
	}
	return occasions
}

// ResolveURL returns the URL; "" if the hook has a command. It replaces the same references and returns the same errors as
// [MCPServer.ResolveEnv]. It also returns an error if the result is not an http or https URL, or has a user name. The error never
// contains the URL, which may be a secret.
func (h Hook) ResolveURL() (string, error) {
	if h.URL == "" {
		return "", nil
	}
	var problem error
	resolved := resolve(h.URL, "", func(text string) { problem = errors.New(text) })
	if text := checkWebURL(resolved); problem == nil && text != "" {
		problem = errors.New(text)
	}
	return resolved, problem
}

// ResolveHeaders returns a copy of the headers. It replaces the same references and returns the same errors as
// [MCPServer.ResolveEnv].
func (h Hook) ResolveHeaders() (map[string]string, error) {
	return resolveAll("headers", h.Headers, "")
}

// ResolveEnv returns a copy of `Env`. It replaces the same references and returns the same errors as [MCPServer.ResolveEnv].
func (h Hook) ResolveEnv() (map[string]string, error) { return resolveAll("env", h.Env, "") }

// Secret returns the secret of the hook. It returns "" if the configuration names neither a file nor a variable. It returns an error
// if the file or the variable is missing, or if the secret is too short or not base64 after "whsec_".
func (h Hook) Secret() (string, error) {
	var secret string
	switch {
	case h.SecretFile != "":
		text, err := os.ReadFile(h.SecretFile)
		if err != nil {
			return "", fmt.Errorf("the file with the hook's secret cannot be read: %w; create it, or correct secret_file", err)
		}
		secret = strings.TrimSpace(string(text))
	case h.SecretEnv != "":
		if secret = strings.TrimSpace(os.Getenv(h.SecretEnv)); secret == "" {
			return "", fmt.Errorf("the environment variable %s is empty or not set; it must contain the hook's secret%s", h.SecretEnv, inWorker)
		}
	default:
		return "", nil
	}
	_, err := webhook.Key(secret)
	return secret, err
}

func (r *reader) hook(p place) Hook {
	var h Hook
	var occasions []string
	for _, on := range agent.Occasions() {
		occasions = append(occasions, string(on))
	}
	p.requiresOne("command", "url")
	r.object(p, keys{
		"url": {"The URL to which the notifications are posted. It may have references such as ${NAME}.", func(p place) {
			if p.shape != nil {
				p.shape.Type, p.shape.Pattern = "string", webURLPattern+`|\$\{`
			} else if h.URL = r.withReferences(p); !reference.MatchString(h.URL) && !r.hasProblem(p.path) {
				if problem := checkWebURL(h.URL); problem != "" {
					r.problemf(p.path, "%s", problem)
				}
			}
		}},
		"secret_env":  {"The environment variable of the worker that has the secret for the signatures of requests.", r.matching(&h.SecretEnv, envName, hookEnvHelp)},
		"secret_file": {"The file that has the secret for the signatures of requests, relative to this file.", r.filePath(&h.SecretFile)},
		"headers":     {"Headers of every request; values may have references such as ${NAME} and ${file:PATH}.", r.references(&h.Headers, headerName, "is not the name of a header")},
		"command":     {"A program, and its arguments, that gets each notification on its standard input.", r.program(&h.Command)},
		"env":         {"Environment variables of the command; values may have references such as ${NAME} and ${file:PATH}.", r.references(&h.Env, envName, "is not the name of an environment variable")},
		"on": {"The occasions about which the hook is notified; all by default.", func(p place) {
			r.texts(&h.On, func(into *string) func(place) {
				return r.oneOf(into, "is %q; write waits, held or ended", occasions...)
			})(p)
			if p.shape != nil {
				p.shape.MinItems = new(1)
			} else if len(h.On) == 0 && !r.hasProblem(p.path) {
				r.problemf(p.path, "is empty; write waits, held or ended, or leave it out for all")
			}
		}},
		"timeout": {"The longest time of one attempt, at most 30s; 10s by default.", r.duration(&h.Timeout)},
	})
	if len(h.On) == 0 {
		h.On = occasions
	}
	return h
}

func (r *reader) checkHook(path string, h Hook) {
	hasCommand, hasURL := r.checkCommandOrURL(path, h.Command, h.URL)
	if h.SecretEnv != "" && h.SecretFile != "" {
		r.problemf(path, "has both secret_env and secret_file; keep one")
	}
	if h.Env != nil && hasURL {
		r.problemf(path+".env", "is for hooks with a command; write headers for a hook with a url")
	}
	for _, field := range []string{"headers", "secret_env", "secret_file"} {
		if r.present(path+"."+field) && hasCommand {
			r.problemf(path+"."+field, "is for hooks with a url; write env for a hook with a command")
		}
	}
	if h.Timeout > protocol.MaxHookTimeout {
		r.problemf(path+".timeout", "must be at most %v, not %v", protocol.MaxHookTimeout, h.Timeout)
	}
}
