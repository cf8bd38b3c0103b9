package sigv4_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/anthropic/sigv4"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

var credentials = aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: "token"}

func provider(err error) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, err })
}

// checking passes on the requests whose signature is right for what has arrived: the method, the path, the signed headers and the body.
func checking(t *testing.T, next http.Handler) (handler http.HandlerFunc, sent *[]string) {
	sent = new([]string)
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		*sent = append(*sent, r.URL.EscapedPath())
		given := r.Header.Get("Authorization")
		_, names, _ := strings.Cut(given, "SignedHeaders=")
		names, _, _ = strings.Cut(names, ",")
		again := r.Clone(t.Context())
		for name := range again.Header {
			if !strings.Contains(";"+names+";", ";"+strings.ToLower(name)+";") {
				again.Header.Del(name) // headers of the transport
			}
		}
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		require.NoError(t, err)
		sum := sha256.Sum256(body)
		require.NoError(t, v4.NewSigner().SignHTTP(t.Context(), credentials, again, hex.EncodeToString(sum[:]), "bedrock", "us-east-1", at))
		require.Equal(t, again.Header.Get("Authorization"), given)
		require.Contains(t, ";"+names+";", ";host;")
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	}, sent
}

// connect returns a client for Bedrock that signs for the region us-east-1.
func connect(t *testing.T, handler http.Handler, from aws.CredentialsProvider) llm.Client {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := anthropic.New(anthropic.Options{
		Platform: anthropic.Bedrock, BaseURL: server.URL, HTTPClient: sigv4.NewClient("us-east-1", from),
	})
	require.NoError(t, err)
	return client
}

var request = llm.Request{
	Candidates: []llm.Candidate{{Name: "m", Model: "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2"}},
	Messages:   []llm.Message{{Role: llm.User, Content: "Zürich <&>"}}, Key: "key-1",
}

func TestSignatureIsThatOfTheRequestThatArrives(t *testing.T) {
	t.Parallel()
	far := llmtest.Script(llmtest.Say("Hi."))
	handler, sent := checking(t, &standin.Endpoint{Client: far})
	reply, err := connect(t, handler, provider(nil)).Complete(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "Hi.", reply.Message.Content)
	require.Equal(t, []string{
		"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fa1b2/invoke-with-response-stream",
	}, *sent)
}

// The guard of a request decides when the body would leave the process, and its error ends the request.
func TestGuardHoldsASignedRequest(t *testing.T) {
	t.Parallel()
	lost := errors.New("another worker has the call")
	for refuseAt := 1; refuseAt <= 2; refuseAt++ {
		far, asked := llmtest.Script(llmtest.Say("Hi.")), 0
		client := connect(t, &standin.Endpoint{Client: far}, provider(nil))
		_, err := client.Complete(llm.WithGuard(t.Context(), func() error {
			if asked++; asked == refuseAt {
				return lost
			}
			return nil
		}), request)
		require.ErrorIs(t, err, lost)
		require.Equal(t, refuseAt, asked)
		require.Empty(t, far.Requests())
	}
}

func TestRequestWithoutCredentialsIsNotSent(t *testing.T) {
	t.Parallel()
	far := llmtest.Script(llmtest.Say("Hi."))
	for _, from := range []aws.CredentialsProvider{nil, provider(errors.New("the session has expired; log in"))} {
		_, err := connect(t, &standin.Endpoint{Client: far}, from).Complete(t.Context(), request)
		require.ErrorIs(t, err, &llm.Error{Class: llm.NoCredential})
		require.NotContains(t, err.Error(), credentials.SecretAccessKey)
	}
	require.Empty(t, far.Requests())
}

// Nobody imports the package by accident, so programs that do not sign do not contain the signer.
func TestNobodyElseImportsThePackage(t *testing.T) {
	t.Parallel()
	const format = `{{.ImportPath}} imports{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`
	output, err := exec.CommandContext(t.Context(), "go", "list", "-f", format, "github.com/reagent-dev/reagent/...").Output()
	require.NoError(t, err)
	require.Contains(t, string(output), "reagent/llm/anthropic ")
	for line := range strings.Lines(string(output)) {
		if importer, imported, _ := strings.Cut(line, " imports"); !strings.HasSuffix(importer, "/sigv4") {
			require.NotContains(t, imported, "llm/anthropic/sigv4", importer)
			require.NotContains(t, imported, "aws/signer", importer)
		}
	}
}
