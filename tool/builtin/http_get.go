package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/reagent-dev/reagent/internal/traceparent"
	"github.com/reagent-dev/reagent/tool"
)

const maxRedirects = 5

type httpGetIn struct {
	URL string `json:"url" jsonschema:"an http or https URL"`
}

func httpGet(o Options) tool.Tool {
	g := getter{o, newHTTPClient(o)}
	return tool.MustFunc("http_get", "Reads a text resource of the web: a page, an API, a file. HTML is given as it is.",
		tool.ReadOnly, g.get)
}

// The client never uses a proxy, because a proxy would connect to any address.
func newHTTPClient(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !o.AllowPrivate {
		// The dialer checks the IP address of each connection. So neither a redirect nor a host name that later resolves to
		// another address can bypass the check.
		dialer.Control = refusePrivate
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxIdleConns:           10,
			IdleConnTimeout:        10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return checkURL(req.URL)
		},
	}
}

func checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("only http and https URLs can be read")
	}
	return nil
}

type getter struct {
	Options

	client *http.Client
}

// If the status is 400 or more, the result is an error result.
func (g getter) get(ctx context.Context, in httpGetIn) (tool.Result, error) {
	u, err := url.Parse(strings.TrimSpace(in.URL))
	if err != nil {
		return tool.Result{}, errors.New("the URL is not valid: it must be whole, such as https://example.com/page?q=a%20b, where %20 stands for a space and %25 for a percent sign")
	}
	if err := checkURL(u); err != nil {
		return tool.Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, g.HTTPTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, u.String(), nil)
	if err != nil {
		return tool.Result{}, err
	}
	req.Header.Set("User-Agent", "reagent")
	req.Header.Set("Accept", "text/html, text/*;q=0.9, application/json, */*;q=0.5")
	if key := tool.InfoFrom(ctx).Key; key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if parent := traceparent.In(ctx); parent != "" {
		req.Header.Set(traceparent.Name, parent)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return tool.Result{}, g.describe(ctx, u, err)
	}
	defer resp.Body.Close()
	// One byte more than MaxHTTPBytes shows whether the body is longer.
	body, err := io.ReadAll(io.LimitReader(resp.Body, g.MaxHTTPBytes+1))
	if err != nil {
		return tool.Result{}, g.describe(ctx, u, err)
	}
	more := int64(len(body)) > g.MaxHTTPBytes
	if more {
		body = body[:g.MaxHTTPBytes]
	}
	text := fmt.Sprintf("HTTP %s\n\n", resp.Status) + render(resp.Header.Get("Content-Type"), body, more)
	return tool.Result{Content: text, IsError: resp.StatusCode >= 400}, nil
}

// The error text contains only the host of the URL, because the other parts may hold secrets. If the context has ended, the error is
// unchanged, and [tool.Func] decides what the model gets.
func (g getter) describe(ctx context.Context, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer within %v", u.Host, g.HTTPTimeout)
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return fmt.Errorf("%s cannot be read: %w", u.Host, err)
}

// If the body is not text, render returns a note instead. `incomplete` means that `body` is only the beginning of the response body.
func render(contentType string, body []byte, incomplete bool) string {
	if contentType == "" {
		contentType = http.DetectContentType(body)
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = contentType
	}
	size, note := fmt.Sprint(len(body)), ""
	if incomplete {
		size = "more than " + size
		note = fmt.Sprintf("\n[cut after %d bytes]", len(body))
	}
	if !textual(mediaType) {
		return fmt.Sprintf("[%s, %s bytes: not shown]", mediaType, size)
	}
	if enc, err := htmlindex.Get(params["charset"]); err == nil {
		if decoded, err := enc.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD") + note
}

func textual(mediaType string) bool {
	switch mediaType {
	case "application/json", "application/xml", "application/javascript", "application/yaml", "application/x-yaml",
		"application/toml", "application/x-ndjson", "application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml")
}
