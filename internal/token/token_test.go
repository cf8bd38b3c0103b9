package token_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/token"
)

const secret, other = "a-secret-of-at-least-24-bytes", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var call = token.Call{AgentID: "order-7/clerk.1", Key: "tool-b0e86962c8de663a172d0fc86f1b3609"}

func signer(t testing.TB, secret string, old ...string) *token.Signer {
	s, err := token.NewSigner(secret, old...)
	require.NoError(t, err)
	return s
}

// The token of a call is the same in all versions, because the far side may keep it for months.
func TestTokenIsWhatItWas(t *testing.T) {
	text := signer(t, secret).Sign(call)
	require.Equal(t, "dG9vbC1iMGU4Njk2MmM4ZGU2NjNhMTcyZDBmYzg2ZjFiMzYwOS9vcmRlci03L2NsZXJrLjE.7e407bdea0359df1e47d356e7c26ed5db06f35574b3810bc30ddd448b6db6218", text)
	require.Len(t, token.Signature(text), 64)
	found, ok := signer(t, secret).Verify(text)
	require.True(t, ok)
	require.Equal(t, call, found)
}

// A token holds for one call of one agent. Who changes any character of it, or cuts it, has no token.
func TestForgedTokenIsRefused(t *testing.T) {
	s := signer(t, secret)
	text := s.Sign(call)
	for i := range len(text) {
		for _, c := range []byte{'A', '0', 'f', '.', '/', '\n', text[i] ^ 1, text[i] ^ 0x20} {
			if changed := text[:i] + string(c) + text[i+1:]; changed != text {
				_, ok := s.Verify(changed)
				require.False(t, ok, changed)
			}
		}
		_, ok := s.Verify(text[:i])
		require.False(t, ok, text[:i])
		_, ok = s.Verify(text[:i] + "\n" + text[i:])
		require.False(t, ok)
	}
	signature := token.Signature(text)
	for _, wanted := range []token.Call{
		{AgentID: "order-8", Key: call.Key}, {AgentID: call.AgentID, Key: "tool-00000000000000000000000000000000"},
	} {
		own := s.Sign(wanted)
		found, ok := s.Verify(own)
		require.True(t, ok)
		require.Equal(t, wanted, found)
		_, ok = s.Verify(strings.Replace(own, token.Signature(own), signature, 1))
		require.False(t, ok, "the signature of another call")
	}
	_, ok := signer(t, other).Verify(text)
	require.False(t, ok, "another secret")
}

// The secret can be replaced without a gap: tokens of the old secret hold until it is removed.
func TestSecretIsReplaced(t *testing.T) {
	old, both, later := signer(t, other), signer(t, secret, other), signer(t, secret)
	_, ok := both.Verify(old.Sign(call))
	require.True(t, ok)
	_, ok = both.Verify(both.Sign(call))
	require.True(t, ok)
	require.Equal(t, later.Sign(call), both.Sign(call))
	_, ok = later.Verify(old.Sign(call))
	require.False(t, ok)
	_, err := token.NewSigner("short-secret")
	require.EqualError(t, err, "the secret has 12 bytes; use a secret of at least 24 bytes")
	_, err = token.NewSigner(secret, other, "short-secret")
	require.EqualError(t, err, "old secret 2: the secret has 12 bytes; use a secret of at least 24 bytes")
}

func TestURLsOfCallbacks(t *testing.T) {
	require.Equal(t, "https://a.example.com/callbacks/T", token.URL("https://a.example.com/callbacks/", "T"))
	require.Equal(t, "https://a.example.com/T", token.URL("https://a.example.com", "T"))
	for _, good := range []string{"http://127.0.0.1:80", "https://a.example.com/x/y/"} {
		require.NoError(t, token.CheckURL(good))
	}
	for _, bad := range []string{"", "a.example.com", "ftp://a.example.com", "https:///x", "https://a/x?y=1", "https://a/x?", "https://a/x#y", "https://u:p@a/x", "https://a/{x}", "https://a/%20"} {
		require.Error(t, token.CheckURL(bad), bad)
	}
}

// Only what Sign has made is a token, whatever the text is.
func FuzzVerify(f *testing.F) {
	s := signer(f, secret, other)
	f.Add(s.Sign(call))
	f.Add("")
	f.Add(".")
	f.Add("dG9vbC0x.00")
	f.Fuzz(func(t *testing.T, text string) {
		found, ok := s.Verify(text)
		if !ok {
			require.Equal(t, token.Call{}, found)
			return
		}
		require.Contains(t, []string{signer(t, secret).Sign(found), signer(t, other).Sign(found)}, text)
	})
}

// Each agent ID and each key of a call come back from their token.
func FuzzSign(f *testing.F) {
	s := signer(f, secret)
	f.Add("order-7", "tool-1")
	f.Fuzz(func(t *testing.T, id, key string) {
		c := token.Call{AgentID: id, Key: agent.Key(strings.ReplaceAll(key, "/", ""))}
		found, ok := s.Verify(s.Sign(c))
		require.True(t, ok)
		require.Equal(t, c, found)
	})
}
