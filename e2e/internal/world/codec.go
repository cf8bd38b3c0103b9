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

// codecForAll is the name of an environment variable. If it is set, [Main] runs all tests with encrypted payloads.
const codecForAll = "REAGENT_E2E_CODEC"

// codecAuth is the Authorization header that the codec server requires.
const codecAuth = "Bearer of the codec"

// vault is a payload codec that encrypts whole payloads with their metadata, so that Temporal's operator can read nothing.
type vault struct{ cipher.AEAD }

// VaultEncoding is the value of the metadata field "encoding" in encrypted payloads.
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

// Decode decrypts payloads. It returns an error for a payload that is not encrypted, because Temporal must not have such a
// payload.
func (v vault) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != VaultEncoding {
			return nil, errors.New("a payload is not encrypted")
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

// CodecServer is a codec server for tests. It refuses requests without the right Authorization header and the namespace
// "default". A test can make some requests fail.
type CodecServer struct {
	*httptest.Server
	// Away holds a URL path as a string. Requests to this path get the status 503, as if the server were down.
	Away atomic.Value
	// Refused counts the requests that failed because of Away.
	Refused atomic.Int32
}

// ServeCodec starts a codec server with a new encryption key. The caller must close the server.
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

// UseCodec makes workers, starters and clients use a codec server if they are created later. The function setenv must set an
// environment variable, for example os.Setenv.
func UseCodec(codec *CodecServer, setenv func(name, value string)) {
	setenv("TEMPORAL_CODEC_ENDPOINT", codec.URL)
	setenv("TEMPORAL_CODEC_AUTH", codecAuth)
}
