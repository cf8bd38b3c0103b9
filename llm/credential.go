package llm

import (
	"context"
	"maps"
)

// Credential is what shows an endpoint who is calling.
type Credential struct {
	// APIKey is the API key or an access token. The client sends it where its API expects it. Empty means that it is not sent.
	APIKey string
	// Headers and Query are added to the request. They replace headers and parameters of the client with the same names.
	Headers, Query map[string]string
}

// Equal reports whether two credentials are the same.
func (c Credential) Equal(other Credential) bool {
	return c.APIKey == other.APIKey && maps.Equal(c.Headers, other.Headers) && maps.Equal(c.Query, other.Query)
}

// CredentialSource returns the credential for the next request. A client calls it before each request, so it must be fast, and keep what
// takes long to get. It is called concurrently. Its error becomes an error of class [NoCredential].
//
// Usually `refused` is nil. If an endpoint has answered HTTP 401, the client calls the function once more with the credential that was
// refused. If the result is another credential, the client repeats the request with it.
type CredentialSource func(ctx context.Context, refused *Credential) (Credential, error)
