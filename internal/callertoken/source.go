package callertoken

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/processgroup"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/tool"
)

const (
	// DefaultTimeout limits one request to a source.
	DefaultTimeout = 10 * time.Second
	// maxAnswer is the largest size of an answer in bytes.
	maxAnswer = 64 << 10
	// maxReason is the number of bytes of a source's reason that people and models see.
	maxReason = 300
)

// question is what a source is asked, as JSON.
type question struct {
	Reference string `json:"reference"`
	Audience  string `json:"audience"`
	Refused   bool   `json:"refused"`
}

// answer is what a source answers, with the names of OAuth 2.
type answer struct {
	AccessToken string `json:"access_token"`
	ExpiresIn   int64  `json:"expires_in"`
	Error       string `json:"error"`
	Description string `json:"error_description"`
	SignInURL   string `json:"sign_in_url"`
}

// Command returns a source that runs a program for each token. The program reads the question from its standard input, has the environment of
// the worker, and prints the answer.
func Command(argv []string, timeout time.Duration) tool.TokenSource {
	timeout = cmp.Or(timeout, DefaultTimeout)
	return func(ctx context.Context, r tool.TokenRequest) (tool.Token, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %v", timeout))
		defer cancel()
		asked, err := json.Marshal(question(r))
		if err != nil {
			return tool.Token{}, fmt.Errorf("encode the question: %w", err)
		}
		stdout, stderr, err := processgroup.Command{Argv: argv, Env: os.Environ(), Stdin: asked, MaxOutput: maxAnswer + 1}.Run(ctx)
		if err != nil {
			hide := redact.New(strings.Fields(string(stdout))...)
			return tool.Token{}, fmt.Errorf("caller_tokens: %s: %w", argv[0], processgroup.Told(err, []byte(hide.Text(string(stderr[:min(len(stderr), maxReason)])))))
		}
		token, err := read(stdout)
		if err != nil {
			return tool.Token{}, fmt.Errorf("caller_tokens: %s: %w", argv[0], err)
		}
		return token, nil
	}
}

// HTTP returns a source that posts the question to a URL. `headers` returns the headers of a request, such as the credential of the worker.
func HTTP(address string, headers func() (map[string]string, error), connection *tls.Config, timeout time.Duration) tool.TokenSource {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = connection.Clone()
	client := &http.Client{
		Transport: transport, Timeout: cmp.Or(timeout, DefaultTimeout),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // no other host gets the headers
	}
	return func(ctx context.Context, r tool.TokenRequest) (tool.Token, error) {
		token, err := post(ctx, client, address, headers, question(r))
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL
		}
		if err != nil {
			return tool.Token{}, fmt.Errorf("caller_tokens: %w", err)
		}
		return token, nil
	}
}

func post(ctx context.Context, client *http.Client, address string, headers func() (map[string]string, error), q question) (tool.Token, error) {
	asked, err := json.Marshal(q)
	if err != nil {
		return tool.Token{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(asked))
	if err != nil {
		return tool.Token{}, errors.New("the url cannot be used")
	}
	own, err := headers()
	if err != nil {
		return tool.Token{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range own {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return tool.Token{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch status := response.StatusCode; {
	case err != nil:
		return tool.Token{}, err
	case status == http.StatusTooManyRequests, status >= 500:
		return tool.Token{}, fmt.Errorf("the endpoint answered HTTP %d", status)
	case status/100 != 2:
		if _, err := read(body); errors.As(err, new(*tool.TokenError)) {
			return tool.Token{}, err
		}
		return tool.Token{}, &tool.TokenError{Reason: fmt.Sprintf("the endpoint answered HTTP %d %s", status, http.StatusText(status))}
	}
	return read(body)
}

// read reads an answer. An error of the source is final; the error invalid_grant means that the caller has to sign in again.
func read(text []byte) (tool.Token, error) {
	var a answer
	switch err := exact.Decode(text, &a, exact.Foreign); {
	case len(text) > maxAnswer:
		return tool.Token{}, fmt.Errorf("the answer has more than %d KiB", maxAnswer>>10)
	case err != nil:
		return tool.Token{}, errors.New(`the answer is not JSON such as {"access_token": "…", "expires_in": 300}`) // without the token
	case a.Error != "":
		reason := printable.Line(cmp.Or(a.Description, a.Error), maxReason)
		return tool.Token{}, &tool.TokenError{
			Expired: a.Error == "invalid_grant", Reason: reason, SignIn: signInURL(a.SignInURL),
		}
	case a.AccessToken == "":
		return tool.Token{}, errors.New("the answer has neither access_token nor error")
	}
	token := tool.Token{Value: a.AccessToken}
	if a.ExpiresIn > 0 {
		token.Expires = time.Now().Add(time.Duration(min(a.ExpiresIn, 86_400)) * time.Second)
	}
	return token, nil
}

// signInURL returns the URL if it is one that a person can open; "" if not.
func signInURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(text) > 2000 {
		return ""
	}
	return u.String()
}
