// Package webhook sends signed messages to URLs, as the specification Standard Webhooks (standardwebhooks.com) describes.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// These are the headers of the specification.
const (
	IDHeader        = "Webhook-Id"
	TimestampHeader = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
)

const (
	encodedPrefix = "whsec_"
	// MinSecretBytes is the smallest size of a signing key, in bytes. The specification demands it.
	MinSecretBytes = 24
	// maxReply limits how many bytes of a response are read, so that the connection can be used again.
	maxReply = 64 << 10
	// shownReply is the size, in bytes, to which an error text cuts the response.
	shownReply = 200
	// maxRetryAfter limits the delay that a response can ask for.
	maxRetryAfter = time.Minute
)

// Key returns the signing key of a secret, of at least [MinSecretBytes] bytes. If the secret begins with "whsec_", the rest is base64,
// as in the specification. The bytes of any other secret are the key itself. The error never contains the secret.
func Key(secret string) ([]byte, error) {
	key := []byte(secret)
	if text, encoded := strings.CutPrefix(secret, encodedPrefix); encoded {
		var err error
		if key, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, errors.New("the secret begins with whsec_, but the rest is not base64; correct the secret")
		}
	}
	if len(key) < MinSecretBytes {
		return nil, fmt.Errorf("the secret has %d bytes; use a secret of at least %d bytes", len(key), MinSecretBytes)
	}
	return key, nil
}

// Sign returns the value of the header [SignatureHeader] for a message. id and now must be the values of the other two headers.
func Sign(key []byte, id string, now time.Time, body []byte) string {
	sum := hmac.New(sha256.New, key)
	fmt.Fprintf(sum, "%s.%d.", id, now.Unix())
	sum.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))
}

// Message is what [Post] sends.
type Message struct {
	URL string
	// Headers are sent in addition to those of the specification.
	Headers map[string]string
	// Key signs the message: see the function [Key]. Nil means that the message has no signature.
	Key []byte
	// ID must be the same for each attempt, so that the receiver can ignore a message that it has already got.
	ID   string
	Body []byte // JSON
}

// Error says why a message was not accepted. Its text does not contain the URL, which may be a secret.
type Error struct {
	text string
	// Retry reports whether a later attempt may succeed.
	Retry bool
	// After is how long the receiver asks to wait before the next attempt. 0 means that it has not asked.
	After time.Duration
}

func (e *Error) Error() string { return e.text }

// client follows no redirects, because a redirect would send the message and its signature to another receiver.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Post sends the message once. It returns nil if the receiver answers with a status of 200 to 299. Otherwise the error is an [*Error].
func Post(ctx context.Context, m Message, now time.Time) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return &Error{text: "the URL is not valid; correct the URL of the hook"}
	}
	for name, value := range m.Headers {
		if req.Header.Set(name, value); http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(IDHeader, m.ID)
	req.Header.Set(TimestampHeader, strconv.FormatInt(now.Unix(), 10))
	if m.Key != nil {
		req.Header.Set(SignatureHeader, Sign(m.Key, m.ID, now, m.Body))
	}
	resp, err := client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // its text has the URL
			err = failed.Err
		}
		return &Error{text: fmt.Sprintf("%s: %v", req.URL.Host, err), Retry: true}
	}
	defer resp.Body.Close()
	reply, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if resp.StatusCode/100 == 2 {
		return nil
	}
	failed := &Error{text: fmt.Sprintf("%s answered HTTP %d", req.URL.Host, resp.StatusCode)}
	if text := strings.TrimSpace(strings.ToValidUTF8(string(reply[:min(len(reply), shownReply)]), "\uFFFD")); text != "" {
		failed.text += ": " + text
	}
	switch status := resp.StatusCode; {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		failed.Retry = true
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
			failed.After = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
		}
	}
	return failed
}
