package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// listener is an HTTP server on a free port of this machine.
type listener struct {
	http *http.Server
	url  string
}

func listen(handler http.Handler) (*listener, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0") // loopback does not wait
	if err != nil {
		return nil, fmt.Errorf("listen on a free port: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		// Serve returns when the server is closed, and for nothing else that could be mended here.
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			l.Close()
		}
	}()
	return &listener{http: server, url: "http://" + l.Addr().String()}, nil
}

// stop ends the server, and with it the requests that it answers.
func (l *listener) stop() { _ = l.http.Close() }
