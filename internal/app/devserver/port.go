package devserver

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// PortInUseError is the error of [Start] if a port in the options is in use.
type PortInUseError struct {
	Port int
	// For says who needs the port: "Temporal" or "the Web UI".
	For string
	// Err is the error of the attempt to listen on the port.
	Err error
}

// Error names the port and its purpose.
func (e *PortInUseError) Error() string {
	return fmt.Sprintf("port %d, for %s, is in use, perhaps by another server; stop that server or choose another port", e.Port, e.For)
}

// Unwrap returns the error of the attempt to listen.
func (e *PortInUseError) Unwrap() error { return e.Err }

func checkFree(opts Options) error {
	for _, p := range []struct {
		port int
		what string
	}{{opts.Port, "Temporal"}, {opts.UIPort, "the Web UI"}} {
		if p.port == 0 {
			continue
		}
		if p.port < 0 || p.port > 65535 {
			return fmt.Errorf("port %d, for %s, must be between 0 and 65535", p.port, p.what)
		}
		l, err := net.Listen("tcp", address(p.port))
		if errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("listen on port %d, for %s: %w; choose a port of 1024 or more", p.port, p.what, err)
		}
		if err != nil {
			return &PortInUseError{Port: p.port, For: p.what, Err: err}
		}
		l.Close()
	}
	if opts.Port != 0 && opts.Port == opts.UIPort {
		return fmt.Errorf("port %d is set for both Temporal and the Web UI; set two different ports", opts.Port)
	}
	return nil
}

// freePort returns a port that is free at the moment. On Linux, test processes that start servers at the same time get
// different ports.
func freePort() (int, error) {
	l, err := net.Listen("tcp", address(0))
	if err != nil {
		return 0, fmt.Errorf("pick a free port: %w", err)
	}
	defer l.Close()
	// Make a connection to the port and close it on the listening side, so that it stays in the state TIME_WAIT. During this time,
	// Linux does not choose the port again as a free port, but a server can still listen on it.
	out, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0, fmt.Errorf("pick a free port: %w", err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		return 0, fmt.Errorf("pick a free port: %w", err)
	}
	in.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
