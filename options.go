package reagent

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm/openai"
)

// models returns the models of the options in the form that package activities needs. It creates a client for each model without
// a Client. It returns an error if a model has no Name or if its client cannot be created.
func (o Options) models() (map[string]activities.Model, error) {
	models := map[string]activities.Model{}
	for name, m := range o.Models {
		if m.Name == "" {
			return nil, fmt.Errorf("model %s: Model.Name is empty: set it to the provider's name of the model", name)
		}
		made := activities.Model{
			Client: m.Client, Model: m.Name, Params: m.Params, Price: m.Price, SendReasoning: m.SendReasoning, TokensPerMinute: m.TokensPerMinute,
		}
		if m.RequestsPerMinute > 0 {
			made.Queue = o.TaskQueue + ".model." + name
		}
		if made.Client == nil {
			var err error
			made.Client, err = openai.New(openai.Options{
				Name: name, BaseURL: m.BaseURL, APIKey: m.APIKey, Headers: m.Headers, Timeout: m.Timeout, IdleTimeout: m.IdleTimeout,
				NoStream: m.NoStream, SendReasoning: m.SendReasoning,
			})
			if err != nil {
				return nil, fmt.Errorf("model %s: %w", name, err)
			}
		}
		models[name] = made
	}
	return models, nil
}

// secrets returns the texts that activities replace in payloads: all texts in Secrets, and the values in Models and
// MCPServers that look random (see [redact.OnlyRandom]). The values in Models and MCPServers are keys, headers, environment
// variables and URL query values. Each word of such a value is also in the result if the word looks random, because the key
// of "Bearer KEY" may appear in a payload without "Bearer".
func (o Options) secrets() []string {
	var found []string
	for _, m := range o.Models {
		found = append(found, m.APIKey)
		found = slices.AppendSeq(found, maps.Values(m.Headers))
	}
	for _, s := range o.MCPServers {
		found = slices.AppendSeq(slices.AppendSeq(found, maps.Values(s.Env)), maps.Values(s.Headers))
		if u, err := url.Parse(s.URL); err == nil {
			for _, values := range u.Query() {
				found = append(found, values...)
			}
		}
	}
	for _, secret := range slices.Clone(found) {
		found = append(found, strings.Fields(secret)...)
	}
	return append(redact.OnlyRandom(found), o.Secrets...)
}
