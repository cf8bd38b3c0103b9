package examples_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/reagent-dev/reagent/e2e/internal/collector"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/internal/testkit/planted"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The demo works with encryption, traces with content, metrics and probes, and runs on until Ctrl-C. Nothing is repeated, also after the kill.
// The metrics agree with what the model has answered, and the second worker sends its spans before it ends. Temporal has nothing in the clear
// that was said.
func TestKeptDemoWorksWithEverythingOn(t *testing.T) {
	withoutCodecServer(t)
	const said = "plum-of-the-demo"
	far := collector.New(t)
	tokens := func() int { return int(far.Counted("gen_ai.client.inference.tokens", "gen_ai.token.type", "input")) }
	model := (&standin.Endpoint{Client: llmtest.Func(func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		reply := llmtest.Say(strings.Repeat(said+" ", 3))
		reply.Usage.InputTokens = 100
		if !slices.ContainsFunc(req.Tools, func(tool llm.ToolSpec) bool { return tool.Name == "publish" }) {
			return reply, nil // of the sub-agent
		}
		switch world.Asked(req) {
		case 0:
			reply.Message = llmtest.Call(llmtest.ToolCall("1", "reader", `{"task":"read"}`)).Message
		case 1:
			world.Eventually(t, "the first worker has told of its calls", func() bool { return ctx.Err() != nil || tokens() == 200 })
			reply.Message = llmtest.Call(llmtest.ToolCall("2", "publish", `{"text":"`+said+`"}`), llmtest.ToolCall("3", "measure", `{}`)).Message
			reply.Usage.InputTokens = 0 // the kill may come before the next export
		}
		return reply, nil
	})}).Serve()
	defer model.Close()
	health := fmt.Sprintf("127.0.0.1:%d", world.FreePort(t))
	env := []string{
		"OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=none",
		`REAGENT_ENCRYPTION_KEYS=keys: {"1": "` + base64.StdEncoding.EncodeToString(make([]byte, 32)) + `"}`,
		"REAGENT_HEALTH_LISTEN=" + health,
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + far.URL, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
		"OTEL_METRIC_EXPORT_INTERVAL=50", "OTEL_BSP_SCHEDULE_DELAY=3600000", // spans come when a worker ends in good order, and only then
	}
	d := startDemo(t, world.Path(), env, "--keep-running")
	d.says("All of it runs on until Ctrl-C.")
	s := d.summary()
	require.Equal(t, "completed", s.Status)
	require.Equal(t, struct{ Requests, Keys, Answered, Repeated int }{4, 4, 4, 0}, s.Model)
	require.Equal(t, effects{1, 1, 0}, s.Publish)
	require.Equal(t, effects{2, 1, 1}, s.Measure)
	require.Equal(t, s.Workers[0], s.Killed)
	require.Zero(t, s.Repeated)

	address := demoAddress(t, d)
	show := exec.Command(world.Binary("starter"), "show", "--address", address, s.ID)
	show.Env = append(append(os.Environ(), "TEMPORAL_CONFIG_FILE="+filepath.Join(t.TempDir(), "none.toml")), env...)
	out, err := show.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "completed")
	require.Contains(t, string(out), said)
	found := planted.Text(rawHistory(t, address, s.ID), []string{said, "binary/encrypted"})
	require.Empty(t, found[said], "Temporal has it in the clear")
	require.NotEmpty(t, found["binary/encrypted"], "the search finds what is there")
	response, err := http.Get("http://" + health + "/readyz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	require.NoError(t, d.cmd.Process.Signal(syscall.SIGINT))
	require.Zero(t, d.end(), "Ctrl-C is the normal end")
	d.leavesNothing()
	require.Equal(t, 300, tokens())
	spans, twice := far.Spans()
	require.Zero(t, twice)
	content, names := "", map[string]int{}
	for _, span := range spans {
		names[span.GetName()]++
		content += span.String()
	}
	require.Equal(t, map[string]int{"invoke_agent guide": 1, "execute_tool desk.measure": 1, "chat gpt-4o-mini": 1}, names)
	require.Contains(t, content, said)
}

// rawHistory returns the events of an agent as Temporal has them.
func rawHistory(t *testing.T, address, id string) string {
	temporal, err := sdk.Dial(sdk.Options{HostPort: address})
	require.NoError(t, err)
	defer temporal.Close()
	text := ""
	for events := temporal.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(t, err)
		text += protojson.Format(event) + "\n"
	}
	return text
}

// withoutCodecServer turns off the codec server that all tests may be run with, because this test has encryption keys.
func withoutCodecServer(t *testing.T) {
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "")
	t.Setenv("TEMPORAL_CODEC_AUTH", "")
}
