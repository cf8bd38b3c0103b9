package reagenttest_test

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func listen(t *testing.T, handler http.Handler) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// A program that runs agents does not compile what tests them.
func TestProgramNeedsNoTests(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/reagent-dev/reagent").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "github.com/reagent-dev/reagent/activities")
	for _, dep := range deps {
		for _, test := range []string{"/reagenttest", "/llm/llmtest", "/internal/standin", "/internal/app/", "/internal/testkit"} {
			require.NotContains(t, dep, "reagent-dev/reagent"+test)
		}
	}
}
