package main

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// uiEnv names the address of the Web UI where it is not the one that goes with Temporal's own.
const uiEnv = "REAGENT_UI_URL"

// uiTimeout bounds the look whether there is a Web UI.
const uiTimeout = 500 * time.Millisecond

// link returns the address of an agent's page in Temporal's Web UI. It is empty where no Web UI is known: it is known from
// REAGENT_UI_URL, of Temporal Cloud, and where one answers on this machine 1000 ports above Temporal, as that of
// `starter dev` does.
func (g *globals) link(ctx context.Context, id string) string {
	base := strings.TrimSuffix(os.Getenv(uiEnv), "/")
	if base == "" {
		base = uiOf(ctx, g.address)
	}
	if base == "" {
		return ""
	}
	return base + "/namespaces/" + url.PathEscape(g.namespace) + "/workflows/" + url.PathEscape(id)
}

// uiOf returns the base address of the Web UI that goes with Temporal's address; empty where none is known.
func uiOf(ctx context.Context, address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	if strings.HasSuffix(host, ".tmprl.cloud") || strings.HasSuffix(host, ".api.temporal.io") {
		return "https://cloud.temporal.io"
	}
	number, err := strconv.Atoi(port)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ""
	}
	base := "http://" + net.JoinHostPort(host, strconv.Itoa(number+uiPortAbove))
	if !answersAsUI(ctx, base) {
		return ""
	}
	return base
}

// answersAsUI reports whether Temporal's Web UI is at that address, and not another program.
func answersAsUI(ctx context.Context, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, uiTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/settings", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json")
}
