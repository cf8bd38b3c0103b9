package reagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/openai"
)

// ModelError says what is wrong with a model in [Options.Models].
type ModelError struct {
	// Model is the name of the model in the options.
	Model string
	// Err is the mistake.
	Err error
}

// Error names the model.
func (e *ModelError) Error() string { return fmt.Sprintf("model %s: %v", e.Model, e.Err) }

// Unwrap returns [ModelError.Err].
func (e *ModelError) Unwrap() error { return e.Err }

// models converts the models of the options to the form that package activities needs. It creates a client for each model
// whose [Model.Client] is nil. The error has a [*ModelError] for each model with a mistake, which the result has without a client.
func (o Options) models(hide *redact.Redactor) (map[string]activities.Model, error) {
	models := map[string]activities.Model{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(o.Models)) {
		m := o.Models[name]
		made := activities.Model{
			Client: m.Client, Model: m.Name, Params: m.Params, Price: m.Price, TokensPerMinute: m.TokensPerMinute, RetryFor: m.RetryFor,
			SendReasoning: m.Reasoning.Send != "" && m.Reasoning.Send != openai.Never,
		}
		if m.RequestsPerMinute > 0 {
			made.TaskQueue = protocol.ModelQueue(o.TaskQueue, name)
		}
		err := m.check()
		if err == nil && m.Client == nil {
			made.Client, made.SendReasoning, err = m.connect(name, hide, o.Logger)
		}
		if err != nil {
			problems = append(problems, &ModelError{Model: name, Err: err})
		}
		models[name] = made
	}
	return models, errors.Join(problems...)
}

// NewClient returns the client with which a worker asks the model: Client, or one for the other fields. `name` is the name of the model in
// [Options.Models], for error texts. The client logs nothing.
func (m Model) NewClient(name string) (llm.Client, error) {
	if m.Client != nil {
		return m.Client, nil
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	made, _, err := m.connect(name, redact.New(), slog.New(slog.DiscardHandler))
	return made, err
}

// connect creates the client of a model whose [Model.Client] is nil. `reasons` says that the client sends the reasoning of earlier replies
// back.
func (m Model) connect(name string, hide *redact.Redactor, log *slog.Logger) (client llm.Client, reasons bool, err error) {
	if m.Provider == "anthropic" {
		made, err := anthropic.New(anthropic.Options{
			Name: name, Platform: m.Platform, BaseURL: m.BaseURL, APIKey: m.APIKey, Headers: m.Headers, Query: m.Query,
			Credential: hiding(m.Credential, hide), TLS: m.TLS, Timeout: m.Timeout, IdleTimeout: m.IdleTimeout,
			NoStream: m.NoStream, PromptCache: m.PromptCache, Log: log,
		})
		if err != nil {
			return nil, false, err
		}
		return made, made.SendsReasoning(m.Name), nil
	}
	made, err := openai.New(openai.Options{
		Name: name, Provider: m.Provider, API: m.API, BaseURL: m.BaseURL, APIKey: m.APIKey, Headers: m.Headers, Query: m.Query, Credential: hiding(m.Credential, hide), TLS: m.TLS,
		Timeout: m.Timeout, IdleTimeout: m.IdleTimeout, NoStream: m.NoStream, Reasoning: m.Reasoning, Log: log,
	})
	if err != nil {
		return nil, false, err
	}
	return made, made.SendsReasoning(m.Name), nil
}

// check checks the fields that the client of the model does not check.
func (m Model) check() error {
	switch {
	case m.Name == "":
		return errors.New("Model.Name is empty: set it to the provider's name of the model")
	case m.Platform != "" && m.Provider != "anthropic" && m.Client == nil:
		return errors.New(`Model.Platform is for the provider anthropic; set Model.Provider to "anthropic", or remove Model.Platform`)
	case m.PromptCache != "" && m.Provider != "anthropic" && m.Client == nil:
		return errors.New("Model.PromptCache is for the provider anthropic; other providers cache prompts by themselves, so leave it empty")
	}
	return nil
}

// hiding returns a source whose credentials `hide` hides from then on. It returns nil if the source is nil.
func hiding(source llm.CredentialSource, hide *redact.Redactor) llm.CredentialSource {
	if source == nil {
		return nil
	}
	return func(ctx context.Context, refused *llm.Credential) (llm.Credential, error) {
		c, err := source(ctx, refused)
		hide.Add(redact.OnlyRandom(withWords(credentialTexts(c.APIKey, c.Headers, c.Query)))...)
		return c, err
	}
}

// credentialTexts returns the texts of a credential that may be secret.
func credentialTexts(key string, values ...map[string]string) []string {
	texts := []string{key}
	for _, of := range values {
		for name, value := range of {
			if !redact.IsSetting(name) {
				texts = append(texts, value)
			}
		}
	}
	return texts
}

// withWords returns the texts and, of those with several words, such as "Bearer KEY", each word.
func withWords(texts []string) []string {
	all := slices.Clone(texts)
	for _, text := range texts {
		all = append(all, strings.Fields(text)...)
	}
	return all
}

// secrets returns the texts that the worker hides in payloads and logs:
//   - All texts of [Options.Secrets], and the signing secrets of hooks and callbacks.
//   - Of the other values of the models, MCP servers and hooks, those that look random: see [redact.OnlyRandom]. These values are keys,
//     headers, environment variables, values in URL queries, and the parts of the URLs of hooks. If a value has several words, such as
//     "Bearer KEY", secrets also tests each word.
func (o Options) secrets() []string {
	var found []string
	for _, m := range o.Models {
		found = append(found, credentialTexts(m.APIKey, m.Headers, m.Query)...)
	}
	for _, s := range o.MCPServers {
		found = slices.AppendSeq(slices.AppendSeq(found, maps.Values(s.Env)), maps.Values(s.Headers))
		if u, err := url.Parse(s.URL); err == nil {
			for _, values := range u.Query() {
				found = append(found, values...)
			}
		}
	}
	signing := []string{}
	for _, h := range o.Notify {
		signing = append(signing, h.Secret, strings.TrimPrefix(h.Secret, "whsec_"))
		found = append(found, redact.URLParts(h.URL)...)
		found = slices.AppendSeq(slices.AppendSeq(found, maps.Values(h.Env)), maps.Values(h.Headers))
	}
	if o.Callbacks != nil {
		for _, secret := range append([]string{o.Callbacks.Secret}, o.Callbacks.OldSecrets...) {
			signing = append(signing, secret, strings.TrimPrefix(secret, "whsec_"))
		}
	}
	return slices.Concat(redact.OnlyRandom(withWords(found)), signing, o.Secrets)
}
