package client_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that only starts agents does not compile the worker's libraries: caches, JSON schemas, MCP.
func TestClientNeedsNoLibrariesOfTheWorker(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "github.com/reagent-dev/reagent/internal/protocol")
	for _, dep := range deps {
		for _, library := range []string{
			"github.com/reagent-dev/reagent/activities", "github.com/reagent-dev/reagent/tool", "github.com/maypok86/otter",
			"github.com/google/jsonschema-go", "github.com/modelcontextprotocol", "github.com/sashabaranov",
		} {
			require.False(t, dep == library || strings.HasPrefix(dep, library+"/"), "client depends on %s", dep)
		}
	}
}
