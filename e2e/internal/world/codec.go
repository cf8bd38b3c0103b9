package world

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// codecForAll makes every test run with encrypted payloads.
const codecForAll = "REAGENT_E2E_CODEC"

// codecAuth is the authorization that the codec server asks for.
const codecAuth = "Bearer of the codec"

// vault encrypts whole payloads, as people do who trust Temporal's operator with nothing.
type vault struct{ cipher.AEAD }

// VaultEncoding is the encoding that encrypted payloads name.
const VaultEncoding = "binary/encrypted"

func newVault() vault {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return vault{aead}
}

func (v vault) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	sealed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		sealed[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(VaultEncoding)},
			Data:     v.Seal(nil, nil, plain, nil),
		}
	}
	return sealed, nil
}

// Decode is strict: what is in clear should not be there.
func (v vault) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != VaultEncoding {
			return nil, errors.New("a payload in clear")
		}
		plain, err := v.Open(nil, nil, p.GetData(), nil)
		if err != nil {
			return nil, err
		}
		opened[i] = new(commonpb.Payload)
		if err := proto.Unmarshal(plain, opened[i]); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// CodecServer is a codec server that asks who is there.
type CodecServer struct {
	*httptest.Server
	// Away is the path, a string, of the requests that find nobody.
	Away atomic.Value
	// Refused counts the requests that found nobody.
	Refused atomic.Int32
}

// ServeCodec starts a codec server, which the caller closes.
func ServeCodec() *CodecServer {
	s := new(CodecServer)
	s.Away.Store("")
	codec := converter.NewPayloadCodecHTTPHandler(newVault())
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != codecAuth || r.Header.Get("X-Namespace") != "default":
			http.Error(w, "not you", http.StatusForbidden)
		case r.URL.Path == s.Away.Load():
			s.Refused.Add(1)
			http.Error(w, "later", http.StatusServiceUnavailable)
		default:
			codec.ServeHTTP(w, r)
		}
	}))
	return s
}

// UseCodec makes workers, starter and clients that are made later use a codec server.
func UseCodec(codec *CodecServer, setenv func(name, value string)) {
	setenv("TEMPORAL_CODEC_ENDPOINT", codec.URL)
	setenv("TEMPORAL_CODEC_AUTH", codecAuth)
}
