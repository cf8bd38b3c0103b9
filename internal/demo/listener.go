package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// listener is an HTTP server on a free port of the loopback interface.
type listener struct {
	http *http.Server
	url  string
}

func listen(handler http.Handler) (*listener, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0") // this does not block on loopback
	if err != nil {
		return nil, fmt.Errorf("listen on a free port: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		// Serve returns ErrServerClosed after stop. The demo cannot repair any other error.
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			l.Close()
		}
	}()
	return &listener{http: server, url: "http://" + l.Addr().String()}, nil
}

// stop closes the server and the connections of its running requests.
func (l *listener) stop() { _ = l.http.Close() }
