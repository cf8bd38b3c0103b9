package session

import (
	"context"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/weblink"
)

// uiEnv is for a Web UI that the starter does not find itself.
const uiEnv = "REAGENT_UI_URL"

// UIPortAbove is the Web UI's port minus Temporal's port. The Temporal CLI has the same default.
const UIPortAbove = 1000

const uiTimeout = 500 * time.Millisecond

// Link returns the address of an agent's page in Temporal's Web UI, or an empty string if no Web UI is known. The Web UI is the first of
// these:
//   - the one that the environment variable REAGENT_UI_URL names
//   - that of Temporal Cloud, for a server in Temporal Cloud
//   - for a server on this machine, the one at Temporal's port plus 1000, if it answers; `starter dev` uses this port by default
func (g *Flags) Link(ctx context.Context, id string) string {
	base := g.WebUI(ctx)
	if base == "" {
		return ""
	}
	return weblink.Agent(base, g.Namespace, id)
}

// WebUI returns the address of Temporal's Web UI, or "" if none is known: see [Flags.Link].
func (g *Flags) WebUI(ctx context.Context) string {
	base := strings.TrimSuffix(os.Getenv(uiEnv), "/")
	switch {
	case base != "":
	case g.InCloud():
		base = "https://cloud.temporal.io"
	default:
		base = uiOf(ctx, g.Address)
	}
	return base
}

// InCloud reports whether the server is in Temporal Cloud.
func (g *Flags) InCloud() bool { return dial.Cloud(g.Address, g.Namespace) }

// uiOf returns an empty string if the Web UI of the server is unknown.
func uiOf(ctx context.Context, address string) string {
	host, port, local := localAddress(address)
	number, err := strconv.Atoi(port)
	if err != nil || !local {
		return ""
	}
	base := "http://" + net.JoinHostPort(host, strconv.Itoa(number+UIPortAbove))
	if !answersAsUI(ctx, base) {
		return ""
	}
	return base
}

// answersAsUI requests the settings of the Web UI, because other programs do not have them.
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
