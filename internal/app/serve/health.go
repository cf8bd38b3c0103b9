package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
)

// HealthEnv is the environment variable for [Options.HealthListen].
const HealthEnv = "REAGENT_HEALTH_LISTEN"

const (
	livePath  = "/healthz"
	readyPath = "/readyz"
	// connectionCheck limits a request that finds out whether Temporal answers, and with it the time of an answer.
	connectionCheck = 2 * time.Second
	// connectionFresh is how long what such a request has found counts, so that many probes do not become many requests.
	connectionFresh = time.Second
)

// The reasons for which a worker is not ready. They are fixed texts, so they contain no secrets.
const (
	reasonStarting  = "the worker is starting"
	reasonDraining  = "the worker is draining: it takes no new work"
	reasonFailed    = "the worker has failed: see its log"
	reasonNoAnswer  = "Temporal does not answer"
	reasonNoPolling = "the worker is not polling its task queue"
)

// health answers probes: whether the worker lives, and whether it takes work. It is safe for concurrent use.
type health struct {
	polls *polls

	mu     sync.Mutex
	reason string // why the worker is not ready, as far as the worker itself knows; empty while it serves
	// answers asks Temporal whether it is healthy. It returns an error if Temporal does not answer. The field is nil before the worker has
	// connected.
	answers func(context.Context) error

	asking   sync.Mutex // lets one probe ask for all that wait
	answered error
	asked    time.Time
}

func newHealth() *health { return &health{polls: newPolls(), reason: reasonStarting} }

// healthAddress is the address for probes, from the flag or the environment; "" for none.
func healthAddress(flag string) string {
	address := cmp.Or(flag, os.Getenv(HealthEnv))
	if address == "none" {
		return ""
	}
	return address
}

// serving says that the worker has started.
func (h *health) serving(w *agentWorker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reason, h.answers = "", func(ctx context.Context) error {
		_, err := w.temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		return err
	}
}

// end says why the worker takes no work any more. The first reason stays.
func (h *health) end(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason == "" || h.reason == reasonStarting {
		h.reason = reason
	}
}

// state returns why the worker is not ready; "" if it is.
func (h *health) state() string {
	h.mu.Lock()
	reason, answers := h.reason, h.answers
	h.mu.Unlock()
	switch {
	case reason != "":
		return reason
	case h.ask(answers) != nil:
		return reasonNoAnswer
	case !h.polls.working(time.Now()):
		return reasonNoPolling
	}
	return ""
}

// ask asks Temporal, unless it was asked just now.
func (h *health) ask(answers func(context.Context) error) error {
	h.asking.Lock()
	defer h.asking.Unlock()
	if time.Since(h.asked) < connectionFresh {
		return h.answered
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectionCheck) // the answer is for other probes, too
	defer cancel()
	h.answered = answers(ctx)
	h.asked = time.Now()
	return h.answered
}

func (h *health) register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+livePath, func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		failed := h.reason == reasonFailed
		h.mu.Unlock()
		if failed {
			writeJSON(w, http.StatusServiceUnavailable, liveness{Reason: reasonFailed})
			return
		}
		writeJSON(w, http.StatusOK, liveness{Healthy: true})
	})
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, _ *http.Request) {
		if reason := h.state(); reason != "" {
			writeJSON(w, http.StatusServiceUnavailable, readiness{Reason: reason})
			return
		}
		writeJSON(w, http.StatusOK, readiness{Ready: true})
	})
}

type liveness struct {
	Healthy bool   `json:"healthy"`
	Reason  string `json:"reason,omitempty"`
}

type readiness struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the sender may have gone
}

// Ready asks the worker at an address whether it is ready, for health checks of containers without a program such as curl. The address is
// that of [Options.HealthListen]. The error says why the worker is not ready.
func Ready(ctx context.Context, address string) error {
	address = healthAddress(address)
	if address == "" {
		return errors.New("--ready needs the address of the worker: set --health-listen or " + HealthEnv + ", as for the worker")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--health-listen is %q: write host:port, such as 127.0.0.1:8091", address)
	}
	if ip := net.ParseIP(host); host == "" || ip.Equal(net.IPv4zero) {
		host = "127.0.0.1"
	} else if ip.Equal(net.IPv6unspecified) {
		host = "::1"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*connectionCheck)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+readyPath, nil)
	if err != nil {
		return fmt.Errorf("ask the worker at %s: %w", address, err)
	}
	direct := &http.Transport{DisableKeepAlives: true} // without the proxy of the environment
	response, err := direct.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("ask the worker at %s: %w", address, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if response.StatusCode == http.StatusOK && err == nil {
		return nil
	}
	return fmt.Errorf("the worker at %s is not ready: %s: %s", address, response.Status, strings.TrimSpace(string(body)))
}
