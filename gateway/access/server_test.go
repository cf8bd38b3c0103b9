package access

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// short is a limit whose effect tests wait for.
const short = 100 * time.Millisecond

// served returns the address of a server for a handler. It ends with the test.
func served(t *testing.T, handler http.Handler, l ServerLimits) string {
	return servedTLS(t, handler, l, nil)
}

// servedTLS speaks HTTPS if there are settings for it.
func servedTLS(t *testing.T, handler http.Handler, l ServerLimits, settings *tls.Config) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := NewServer(handler, l, slog.New(slog.DiscardHandler))
	server.TLSConfig = settings
	ended := make(chan error, 1)
	go func() {
		if settings != nil {
			ended <- server.ServeTLS(listener, "", "")
		} else {
			ended <- server.Serve(listener)
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return listener.Addr().String()
}

// trusting returns a client for servers with a certificate of the pool. It prefers HTTP/2.
func trusting(t *testing.T, pool *x509.CertPool) *http.Client {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// dialed connects and sends a text.
func dialed(t *testing.T, address, text string) net.Conn {
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn
}

// A client that does not send all of its body is answered with an error and loses the connection. An event stream that is older goes on.
func TestSlowBodyIsCutAndEventStreamIsNot(t *testing.T) {
	events := make(chan string)
	defer close(events)
	mux := http.NewServeMux()
	mux.Handle("/", controlled(t, "", Options{}).Handler(whoami))
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		for event := range events {
			if r.Context().Err() != nil {
				event = "the request has ended"
			}
			fmt.Fprintln(w, event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	address := served(t, mux, ServerLimits{Request: short})
	stream := bufio.NewReader(dialed(t, address, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	events <- "first"
	answer, err := http.ReadResponse(stream, nil)
	require.NoError(t, err)
	lines := bufio.NewReader(answer.Body)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "first\n", line)

	for _, length := range []string{"Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n64\r\n"} {
		slow := bufio.NewReader(dialed(t, address, "POST / HTTP/1.1\r\nHost: localhost\r\n"+length+"some"))
		refused, err := http.ReadResponse(slow, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusRequestTimeout, refused.StatusCode)
		_, err = io.Copy(io.Discard, refused.Body)
		require.NoError(t, err)
		_, err = slow.ReadByte()
		require.ErrorIs(t, err, io.EOF, "the connection is closed")

		events <- "second"
		line, err = lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "second\n", line)
	}
}

// A client that does not send the header of its request loses the connection.
func TestSlowHeaderIsCut(t *testing.T) {
	address := served(t, whoami, ServerLimits{Header: short})
	for _, text := range []string{"", "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "} {
		_, _ = io.ReadAll(dialed(t, address, text)) // it ends, in one way or another
	}
}

// A client that never reads its event stream loses the connection. A stream that was silent meanwhile ends as it should. So it is with HTTP/1.1
// and with HTTP/2.
func TestStreamThatNobodyReadsIsDropped(t *testing.T) {
	dropped := make(chan error, 2)
	mux := http.NewServeMux()
	mux.HandleFunc("/unread", func(w http.ResponseWriter, _ *http.Request) {
		event := []byte(strings.Repeat("x", 64<<10))
		for {
			if _, err := w.Write(event); err != nil {
				dropped <- err
				return
			}
		}
	})
	silence := make(chan struct{})
	mux.HandleFunc("/silent", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "all")
		w.(http.Flusher).Flush()
		<-silence
	})
	pool := x509.NewCertPool()
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	pool.AddCert(certificate(t, certFile, keyFile, 1))
	settings, err := TLS(certFile, keyFile, nil)
	require.NoError(t, err)
	limits := ServerLimits{Write: 2 * time.Second} // a slow machine needs some time for a write that does not block
	urls := []string{"http://" + served(t, mux, limits), "https://" + servedTLS(t, mux, limits, settings)}
	client := trusting(t, pool)
	get := func(url string) *http.Response {
		answer, err := client.Get(url)
		require.NoError(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	var silent []*http.Response
	for i, url := range urls {
		silent = append(silent, get(url+"/silent"))
		require.Equal(t, i+1, silent[i].ProtoMajor)
	}
	for _, url := range urls {
		get(url + "/unread")
	}
	for range urls {
		require.Error(t, <-dropped)
	}
	close(silence) // their last write was before those of the others
	for _, answer := range silent {
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, "all", string(text))
	}
}

// An answer is sent as it was written, however large it is.
func TestLargeAnswerIsWhole(t *testing.T) {
	for _, size := range []int{0, 1, maxWrite - 1, maxWrite, maxWrite + 1, 3*maxWrite + 7} {
		body := strings.Repeat("0123456789abcde", size/15+1)[:size]
		answer, err := http.Get("http://" + served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n, err := w.Write([]byte(body))
			if n != size || err != nil {
				t.Error(n, err)
			}
		}), ServerLimits{}))
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, size, len(text))
		require.True(t, body == string(text))
	}
}

// Connections that do nothing do not keep others from being served, even if there are more of them than a server may have. Those with a request
// stay.
func TestIdleConnectionsDoNotStopOthers(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	mux := http.NewServeMux()
	mux.Handle("/", whoami)
	mux.HandleFunc("/long", func(http.ResponseWriter, *http.Request) {
		begun <- true
		<-end
	})
	address := served(t, mux, ServerLimits{Connections: 100})
	get := func(path string) *bufio.Reader {
		return bufio.NewReader(dialed(t, address, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	}
	status := func(conn *bufio.Reader) int {
		answer, err := http.ReadResponse(conn, nil)
		require.NoError(t, err)
		return answer.StatusCode
	}
	long := get("/long")
	<-begun
	for range 2000 {
		dialed(t, address, "")
	}
	require.Equal(t, http.StatusOK, status(get("/")))
	close(end)
	require.Equal(t, http.StatusOK, status(long))
}

// Of too many connections, the one is closed that has had no request for the longest time; the new one, if all others have a request.
func TestConnectionWithoutARequestIsClosed(t *testing.T) {
	c := newConnections(2)
	all := map[string]net.Conn{}
	closed := func(name string) bool { return all[name].SetDeadline(time.Time{}) != nil }
	for _, step := range []struct {
		conn   string
		state  http.ConnState
		closed string // the connection that is closed by it
	}{
		{"a", http.StateNew, ""}, {"b", http.StateNew, ""}, {"a", http.StateActive, ""}, {"a", http.StateIdle, ""},
		{"c", http.StateNew, "b"}, {"b", http.StateClosed, ""},
		{"a", http.StateActive, ""}, {"d", http.StateNew, "c"}, {"c", http.StateClosed, ""},
		{"d", http.StateActive, ""}, {"e", http.StateNew, "e"}, {"e", http.StateClosed, ""},
		{"d", http.StateHijacked, ""}, {"f", http.StateNew, ""}, {"a", http.StateClosed, ""}, {"g", http.StateNew, ""},
	} {
		if step.state == http.StateNew {
			all[step.conn], _ = net.Pipe()
		}
		before := map[string]bool{}
		for name := range all {
			before[name] = closed(name)
		}
		c.changed(all[step.conn], step.state)
		for name := range all {
			require.Equal(t, before[name] || name == step.closed, closed(name), "%s is now %s: %s", step.conn, step.state, name)
		}
	}
	require.Len(t, c.open, 2)
	require.Equal(t, 2, c.quiet.Len())
}

// certificate writes a certificate for 127.0.0.1 and its key, and returns the certificate.
func certificate(t *testing.T, certFile, keyFile string, serial int64) *x509.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		require.NoError(t, os.WriteFile(file+".new", pem.EncodeToMemory(block), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return parsed
}

// The server takes a renewed certificate without a restart. It keeps the old one if the new one cannot be used.
func TestRenewedCertificateIsServed(t *testing.T) {
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	b := controlled(t, "", Options{})
	_, err := TLS(certFile, keyFile, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	pool := x509.NewCertPool()
	pool.AddCert(certificate(t, certFile, keyFile, 1))
	settings, err := newTLS(certFile, keyFile, b.Control.log, b.clock.now)
	require.NoError(t, err)

	address := servedTLS(t, whoami, ServerLimits{}, settings)
	serial := func() int64 {
		b.clock.pass(reloadEvery)
		answer, err := trusting(t, pool).Get("https://" + address) // a new connection
		require.NoError(t, err)
		defer answer.Body.Close()
		return answer.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	require.EqualValues(t, 1, serial())
	pool.AddCert(certificate(t, certFile, keyFile, 2))
	require.EqualValues(t, 2, serial())
	require.NoError(t, os.WriteFile(keyFile, []byte("no key"), 0o600))
	require.EqualValues(t, 2, serial())
	require.EqualValues(t, 2, serial())
	require.Equal(t, 1, strings.Count(b.log.String(), "The changed certificate cannot be used"))
}
