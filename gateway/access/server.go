package access

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// ServerLimits are the limits of a server: see [NewServer]. The zero ServerLimits are the defaults.
type ServerLimits struct {
	// Header limits the time to read the header of a request. Defaults to 10 seconds.
	Header time.Duration
	// Request limits the time to read a request with its body. It does not end an event stream, because no more is read then. Defaults to a
	// minute.
	Request time.Duration
	// Write limits the time to send 64 KB of what a handler has written, or what it has flushed. So a client that does not read its event stream loses the
	// connection, and one that reads keeps it for as long as the handler likes. Defaults to 30 seconds.
	Write time.Duration
	// Idle limits the time between two requests of a connection. Defaults to a minute.
	Idle time.Duration
	// Connections limits the open connections. If there are more, the server closes one that has no request; if all have one, it closes the new
	// one. Defaults to 10,000.
	Connections int
}

// maxHeader is more than a request with a token and a cookie has, in bytes.
const maxHeader = 64 << 10

// NewServer returns a server for a handler that bounds what a client can take: see [ServerLimits].
func NewServer(handler http.Handler, l ServerLimits, log *slog.Logger) *http.Server {
	write := cmp.Or(l.Write, 30*time.Second)
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d := &deadlineWriter{ResponseWriter: w, control: http.NewResponseController(w), limit: write}
			d.clear() // of the request before
			handler.ServeHTTP(d, r)
			d.extend() // for what is sent when the handler has returned
		}),
		ReadHeaderTimeout: cmp.Or(l.Header, 10*time.Second), ReadTimeout: cmp.Or(l.Request, time.Minute), IdleTimeout: cmp.Or(l.Idle, time.Minute),
		MaxHeaderBytes: maxHeader, ConnState: newConnections(cmp.Or(l.Connections, 10_000)).changed,
		ErrorLog: slog.NewLogLogger(cmp.Or(log, slog.Default()).Handler(), slog.LevelWarn),
	}
}

// deadlineWriter has a deadline while it writes, and none in between: with HTTP/2, a deadline that passes ends the stream, also if nothing is
// being written. [http.Server.WriteTimeout] would end event streams in the same way.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

func (d *deadlineWriter) extend() {
	_ = d.control.SetWriteDeadline(time.Now().Add(d.limit)) // a recorder of a test has none
}

func (d *deadlineWriter) clear() { _ = d.control.SetWriteDeadline(time.Time{}) }

// maxWrite is how many bytes must be sent within the deadline. On a slow line, a larger answer takes longer, and is no stalled one.
const maxWrite = 64 << 10

// Write implements [http.ResponseWriter].
func (d *deadlineWriter) Write(p []byte) (n int, err error) {
	defer d.clear()
	for {
		d.extend()
		written, err := d.ResponseWriter.Write(p[n:min(n+maxWrite, len(p))])
		if n += written; err != nil || n == len(p) {
			return n, err
		}
	}
}

// FlushError implements the interface that [http.ResponseController] looks for.
func (d *deadlineWriter) FlushError() error {
	d.extend()
	defer d.clear()
	return d.control.Flush()
}

// Flush implements [http.Flusher].
func (d *deadlineWriter) Flush() { _ = d.FlushError() }

// Unwrap lets [http.ResponseController] find the connection.
func (d *deadlineWriter) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// TLS returns a configuration with the certificate and the key in these files, in PEM. They are read again when they change. A pair that cannot
// be used is logged once, and the one from before stays.
func TLS(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	return newTLS(certFile, keyFile, cmp.Or(log, slog.Default()), time.Now)
}

func newTLS(certFile, keyFile string, log *slog.Logger, now func() time.Time) (*tls.Config, error) {
	pair := &reloaded[*tls.Certificate]{
		files: []string{certFile, keyFile}, now: now,
		read: func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certFile, keyFile)
			if err != nil {
				return nil, fmt.Errorf("the certificate %s and its key %s: %w", certFile, keyFile, err)
			}
			return &pair, nil
		},
		failed: func(err error) {
			log.Error("The changed certificate cannot be used. The one from before stays.", "problem", err.Error())
		},
	}
	if err := pair.load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get(), nil },
	}, nil
}
