package doctor

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/serve"
)

const (
	// reachLimit is how long an endpoint may take to answer at all, and answerLimit how long a model may take for a few tokens.
	reachLimit, answerLimit = 10 * time.Second, 45 * time.Second
	// modelCure is what to do about an endpoint that does not answer.
	modelCure = "check its base_url and tls in the configuration, the network between, and HTTPS_PROXY"
)

// checkModels looks at the endpoints of all models that agents use, at the same time.
func checkModels(ctx context.Context, p *patient) []object.Finding {
	if p.cfg == nil {
		return []object.Finding{unchecked("the models: there is no configuration that can be read")}
	}
	used := map[string]bool{}
	for _, a := range p.cfg.Agents {
		for _, name := range a.Models() {
			used[name] = true
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Models)) {
		if used[name] && p.cfg.Broken("models."+name) == "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []object.Finding{unchecked("the models: the configuration has none that an agent uses")}
	}
	found := make([]object.Finding, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { found[i] = p.checkModel(ctx, name, p.cfg.Models[name]) })
	}
	all.Wait()
	return found
}

func (p *patient) checkModel(ctx context.Context, name string, m config.Model) object.Finding {
	answered, err := reach(ctx, m)
	if err != nil {
		return wrong(fmt.Sprintf("the endpoint of the model %s does not answer: %v", name, err), modelCure)
	}
	if !p.options.CallModels {
		return well("the endpoint of the model %s answers %s; --call-models asks the model itself", name, answered)
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if err := serve.Ask(ctx, name, m); err != nil {
		return wrong(fmt.Sprintf("the model %s does not answer: %v", name, err), "check its key, its name at the provider (model) and its base_url in the configuration, and the account at the provider")
	}
	return well("the model %s answers %s", name, answered)
}

// reach asks the endpoint of a model for nothing, without a key. Any response says that it can be reached, by TLS and a proxy if there is one.
// The result says where it is.
func reach(ctx context.Context, m config.Model) (where string, err error) {
	address, err := url.Parse(m.BaseURL)
	if err != nil {
		return "", fmt.Errorf("base_url: %w", err)
	}
	connection, err := m.TLS.Config()
	if err != nil {
		return "", fmt.Errorf("tls: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = connection
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	plain := url.URL{Scheme: address.Scheme, Host: address.Host, Path: address.Path} // its query may have a secret
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, plain.String(), nil)
	if err != nil {
		return "", err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	_ = response.Body.Close()
	return "at " + address.Scheme + "://" + address.Host, nil
}
