package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/processgroup"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/traceparent"
	"github.com/reagent-dev/reagent/internal/webhook"
)

// Hook receives a notification when an agent waits for a person or a program, is held, or ends: see [agent.Notification]. A hook is either
// a URL or a command. A notification may be delivered more than once, as JSON with a key, so a receiver can ignore a key that it has
// already got. After 10 minutes without success, or 1 minute at the end of the agent, a notification is given up.
type Hook struct {
	// Name is part of the keys of the notifications. After a change of the name, the hook may get a notification again, with another
	// key. Required.
	Name string
	// URL receives the notifications as POST requests with the headers of the specification Standard Webhooks. A status of 200 to 299
	// means that the receiver has accepted the notification. After 408, 429, 500 or higher and network errors, it is sent again. After
	// any other status, it is given up.
	URL string
	// Secret signs the requests to the URL. It needs at least 24 bytes. If it begins with "whsec_", the rest is base64, as in the
	// specification. Any other secret is used as it is. Empty means that the requests have no signature.
	Secret string
	// Headers are added to each request to the URL.
	Headers map[string]string
	// Command is a program and its arguments. It gets the notification on stdin. The exit code 0 means that it has accepted the
	// notification. After any other exit code, it runs again with the same notification.
	Command []string
	// Env has environment variables for the command. The command also gets a few variables of the worker, such as HOME and PATH.
	// The variable TRACEPARENT has the trace of the turn, if there is one; a URL gets it in the header traceparent.
	Env map[string]string
	// On lists the occasions about which the hook is notified. Empty means all: see [agent.Occasions].
	On []agent.Occasion
	// Timeout limits one attempt. Defaults to [DefaultHookTimeout]; the maximum is [protocol.MaxHookTimeout].
	Timeout time.Duration
}

// DefaultHookTimeout is the default of [Hook.Timeout].
const DefaultHookTimeout = 10 * time.Second

// hook is a valid [Hook] whose defaults are set.
type hook struct {
	Hook

	key []byte // signs requests; nil if there is no secret
}

func newHook(h Hook) (hook, error) {
	made := hook{Hook: h}
	made.Timeout = cmp.Or(h.Timeout, DefaultHookTimeout)
	if made.On = slices.Clone(h.On); len(made.On) == 0 {
		made.On = agent.Occasions()
	}
	switch {
	case h.Name == "":
		return made, errors.New("has no name: set Hook.Name")
	case (h.URL == "") == (len(h.Command) == 0):
		return made, errors.New("needs either a URL or a command: set one of Hook.URL and Hook.Command")
	case h.URL == "" && (h.Secret != "" || len(h.Headers) > 0):
		return made, errors.New("has a command, which gets no secret and no headers: remove Hook.Secret and Hook.Headers, or set Hook.URL")
	case h.URL != "" && len(h.Env) > 0:
		return made, errors.New("has a URL, which gets no environment: remove Hook.Env, or set Hook.Command")
	case made.Timeout < 0 || made.Timeout > protocol.MaxHookTimeout:
		return made, fmt.Errorf("has the timeout %v: set Hook.Timeout to a positive duration of at most %v, or to 0 for the default", made.Timeout, protocol.MaxHookTimeout)
	}
	for _, on := range made.On {
		if !slices.Contains(agent.Occasions(), on) {
			return made, fmt.Errorf("there is no occasion %q: use only these in Hook.On: %v", on, agent.Occasions())
		}
	}
	if h.URL != "" {
		if u, err := url.Parse(h.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return made, errors.New("the URL is not valid: set Hook.URL to a URL such as https://example.com/hook")
		}
	}
	if h.Secret != "" {
		var err error
		if made.key, err = webhook.Key(h.Secret); err != nil {
			return made, err
		}
	}
	return made, nil
}

// deliver makes one attempt at a notification. The text of the error may contain secrets.
func (h hook) deliver(ctx context.Context, key agent.Key, body []byte, traceParent string) error {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	if h.URL == "" {
		return h.run(ctx, body, traceParent)
	}
	headers := h.Headers
	if traceParent != "" {
		headers = maps.Clone(headers)
		if headers == nil {
			headers = map[string]string{}
		}
		headers[traceparent.Name] = traceParent
	}
	return webhook.Post(ctx, webhook.Message{URL: h.URL, Headers: headers, Key: h.key, ID: string(key), Body: body}, time.Now())
}

// maxHookOutput is the size, in bytes, to which each output of a command is cut.
const maxHookOutput = 1000

// run runs the command once. When the command has exited, or ctx has ended, run kills all processes that the command has started. The
// error contains the beginning of the command's output.
func (h hook) run(ctx context.Context, body []byte, traceParent string) error {
	env := processgroup.Environ(h.Env)
	if traceParent != "" {
		env = append(env, "TRACEPARENT="+traceParent) // as OpenTelemetry's convention for the environment of processes has it
	}
	command := processgroup.Command{Argv: h.Command, Env: env, Stdin: body, MaxOutput: maxHookOutput}
	stdout, stderr, err := command.Run(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the command was killed when the time for the delivery was over, or when the attempt was cancelled: %w", ctx.Err())
	}
	return processgroup.Told(err, stdout, stderr)
}
