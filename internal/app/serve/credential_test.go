package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
)

// certificate writes a certificate for 127.0.0.1, which has signed itself, and its private key. It returns the paths of the files.
func certificate(t *testing.T) (cert, private string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, private = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	require.NoError(t, os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
	return cert, private
}

func TestEndpointSeesTheClientsCertificate(t *testing.T) {
	cert, private := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, private)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.TLS.PeerCertificates[0].IPAddresses[0].String()))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()

	made, err := config.TLS{CertFile: cert, KeyFile: private, CAFile: cert}.Config()
	require.NoError(t, err)
	response, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: made}}).Get(server.URL)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", string(body))

	_, err = config.TLS{CAFile: private}.Config()
	require.ErrorContains(t, err, "tls_ca_file: the file "+private+" has no certificate in PEM")
	_, err = config.TLS{CertFile: private, KeyFile: private}.Config()
	require.ErrorContains(t, err, "tls_cert_file and tls_key_file: ")
	none, err := config.TLS{}.Config()
	require.NoError(t, err)
	require.Nil(t, none)
}
