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

	"github.com/reagent-dev/reagent/tool"
)

const maxRedirects = 5

type httpGetIn struct {
	URL string `json:"url" jsonschema:"an http or https URL"`
}

func httpGet(o Options) tool.Tool {
	g := getter{client: newHTTPClient(o), timeout: o.HTTPTimeout, maxBytes: o.MaxHTTPBytes}
	return tool.MustFunc("http_get", "Reads a text resource of the web: a page, an API, a file. HTML is given as it is.",
		tool.ReadOnly, g.get)
}

// newHTTPClient makes a client that connects only to addresses it may reach. The
// check is at the dial, on the address that the name has led to, so neither a
// redirect nor a name that resolves differently the second time gets around it.
// For the same reason no proxy is used: it would dial for us.
func newHTTPClient(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !o.AllowPrivate {
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
	client   *http.Client
	timeout  time.Duration
	maxBytes int64
}

func (g getter) get(ctx context.Context, in httpGetIn) (tool.Result, error) {
	u, err := url.Parse(strings.TrimSpace(in.URL))
	if err != nil {
		return tool.Result{}, errors.New("the URL cannot be parsed")
	}
	if err := checkURL(u); err != nil {
		return tool.Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, g.timeout)
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
	resp, err := g.client.Do(req)
	if err != nil {
		return tool.Result{}, g.describe(ctx, u, err)
	}
	defer resp.Body.Close()
	// One byte more tells whether there is more.
	body, err := io.ReadAll(io.LimitReader(resp.Body, g.maxBytes+1))
	if err != nil {
		return tool.Result{}, g.describe(ctx, u, err)
	}
	more := int64(len(body)) > g.maxBytes
	if more {
		body = body[:g.maxBytes]
	}
	text := fmt.Sprintf("HTTP %s\n\n", resp.Status) + render(resp.Header.Get("Content-Type"), body, more)
	return tool.Result{Content: text, IsError: resp.StatusCode >= 400}, nil
}

// describe says why a page could not be read, without repeating the URL's
// parameters. The call's own end is passed on as it is.
func (g getter) describe(ctx context.Context, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer within %v", u.Host, g.timeout)
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return fmt.Errorf("%s cannot be read: %w", u.Host, err)
}

// render makes text of a body, or a note that it is none.
func render(contentType string, body []byte, more bool) string {
	if contentType == "" {
		contentType = http.DetectContentType(body)
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = contentType
	}
	size, note := fmt.Sprint(len(body)), ""
	if more {
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
