package devserver

import (
	"fmt"
	"net"
)

// PortInUseError says that a port that was asked for is taken.
type PortInUseError struct {
	Port int
	// For is "Temporal" or "the Web UI".
	For string
	Err error
}

// Error names the port and what it was for.
func (e *PortInUseError) Error() string {
	return fmt.Sprintf("port %d, for %s, is in use; is a server running already?", e.Port, e.For)
}

// Unwrap returns the error of the attempt to listen.
func (e *PortInUseError) Unwrap() error { return e.Err }

// checkFree tells a taken port from all other reasons for which a server may
// not start.
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
		if err != nil {
			return &PortInUseError{Port: p.port, For: p.what, Err: err}
		}
		l.Close()
	}
	if opts.Port != 0 && opts.Port == opts.UIPort {
		return fmt.Errorf("port %d cannot be both Temporal's and the Web UI's", opts.Port)
	}
	return nil
}

// freePort returns a port that was free just now. A connection to it is left in
// TIME_WAIT, closed by the listening side: as long as that lasts Linux does not
// hand the port out again, while a server may still listen on it. So servers
// that several test processes start at once do not get one port.
func freePort() (int, error) {
	l, err := net.Listen("tcp", address(0))
	if err != nil {
		return 0, fmt.Errorf("pick a free port: %w", err)
	}
	defer l.Close()
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
