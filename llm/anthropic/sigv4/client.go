// Package sigv4 signs requests to Amazon Bedrock with AWS credentials, by Amazon's own signer. Use it for roles and profiles; a Bedrock API
// key needs no signature:
//
//	conf, err := config.LoadDefaultConfig(ctx) // of github.com/aws/aws-sdk-go-v2/config
//	…
//	model, err := anthropic.New(anthropic.Options{
//		Platform:   anthropic.Bedrock,
//		BaseURL:    "https://bedrock-runtime.us-east-1.amazonaws.com",
//		HTTPClient: sigv4.NewClient("us-east-1", conf.Credentials),
//	})
//
// The package is on its own, so that only programs that use it contain Amazon's library.
package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// service is the name of Bedrock in signatures, also for its endpoint bedrock-runtime.
const service = "bedrock"

// NewClient returns an HTTP client for [anthropic.Options.HTTPClient] that signs each request for a region, such as "us-east-1". It gets
// the credentials for each request from `credentials`, which should keep them until they expire, like [aws.NewCredentialsCache] does. If
// there are none, the request is not sent, and its error has the class [llm.NoCredential]. The client does not follow redirects and does
// not retry. It is safe for concurrent use.
func NewClient(region string, credentials aws.CredentialsProvider) *http.Client {
	client := endpoint.NewHTTPClient(nil)
	client.Transport = &transport{region: region, credentials: credentials, signer: v4.NewSigner(), next: client.Transport}
	return client
}

// transport signs requests before it passes them on.
type transport struct {
	region      string
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	next        http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	signed, err := t.sign(r)
	if err != nil {
		if r.Body != nil {
			r.Body.Close() // a RoundTripper closes the body, also if it fails
		}
		return nil, err
	}
	return t.next.RoundTrip(signed)
}

// sign returns a copy of the request with a signature.
func (t *transport) sign(r *http.Request) (*http.Request, error) {
	hash, err := bodyHash(r)
	if err != nil {
		return nil, err
	}
	if t.credentials == nil {
		return nil, &llm.Error{Class: llm.NoCredential, Message: "there are no AWS credentials; pass a provider of them to sigv4.NewClient"}
	}
	credentials, err := t.credentials.Retrieve(r.Context())
	switch {
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		return nil, &llm.Error{Class: llm.NoCredential, Message: fmt.Sprintf("get the AWS credentials: %v", err), Err: err}
	}
	r = r.Clone(r.Context())
	if err := t.signer.SignHTTP(r.Context(), credentials, r, hash, service, t.region, time.Now()); err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	return r, nil
}

// bodyHash returns the SHA-256 of the body in the form of the signature. It reads a second copy of the body, because the first one asks,
// when it is read, whether the request may still be sent: see [llm.WithGuard]. Only a few services, such as S3, take a signature without it.
func bodyHash(r *http.Request) (string, error) {
	sum := sha256.New()
	if r.Body != nil && r.Body != http.NoBody {
		if r.GetBody == nil {
			return "", errors.New("the body of the request can be read only once, so it cannot be signed; set GetBody")
		}
		body, err := r.GetBody()
		if err != nil {
			return "", err
		}
		defer body.Close()
		if _, err := io.Copy(sum, body); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
