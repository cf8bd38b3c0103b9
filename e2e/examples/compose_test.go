package examples_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/app/serve"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// composeFile is the part of a Compose file that docker-compose.yml uses. A field that is not in it is an error, so
// that the tests find misspelt fields.
type composeFile struct {
	Name     string
	Reagent  composeService `yaml:"x-reagent"`
	Services map[string]composeService
	Volumes  map[string]any
}

type composeService struct {
	Image string
	Build struct {
		Context string
		Args    map[string]string
	}
	Entrypoint, Command, Profiles, Ports, Volumes []string
	Environment                                   map[string]string
	DependsOn                                     map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck                                   struct {
		Test              []string
		Interval, Timeout string
		Retries           int
		StartPeriod       string `yaml:"start_period"`
	}
	User            string
	Restart         string
	ReadOnly        bool     `yaml:"read_only"`
	CapDrop         []string `yaml:"cap_drop"`
	SecurityOpt     []string `yaml:"security_opt"`
	Init            bool
	StopGracePeriod string `yaml:"stop_grace_period"`
}

func compose(t *testing.T) composeFile {
	data, err := os.ReadFile(world.Path("docker-compose.yml"))
	require.NoError(t, err)
	var file composeFile
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file))
	return file
}

// docker-compose.yml pins the version of each image that it does not build, and opens ports on the local host only. No
// service has root as its user. Worker and starter run without capabilities, and cannot get new privileges.
func TestComposeIsPinnedAndClosed(t *testing.T) {
	file := compose(t)
	require.Equal(t, "temporalio/temporal:"+strings.TrimPrefix(devserver.CLIVersion, "v"), file.Services["temporal"].Image)
	for name, s := range file.Services {
		require.NotContains(t, []string{"root", "0", "0:0"}, s.User, name)
		if s.Build.Context == "" {
			require.Regexp(t, `^[\w/.-]+:\d+\.\d+\.\d+$`, s.Image, name)
		}
		for _, port := range s.Ports {
			require.Regexp(t, `^127\.0\.0\.1:`, port, name)
		}
		for other := range s.DependsOn {
			require.Contains(t, file.Services, other)
		}
		for _, mount := range s.Volumes {
			source, _, _ := strings.Cut(mount, ":")
			if strings.HasPrefix(source, ".") {
				require.True(t, strings.HasSuffix(mount, ":ro"), mount)
				require.NotEqual(t, ".", source, "the whole folder may hold keys")
				_, err := os.Stat(world.Path(source))
				require.NoError(t, err)
			} else {
				require.Contains(t, file.Volumes, source)
			}
		}
	}
	for _, name := range []string{"worker", "starter"} {
		s := file.Services[name]
		require.True(t, s.ReadOnly)
		require.Equal(t, []string{"ALL"}, s.CapDrop)
		require.Equal(t, []string{"no-new-privileges:true"}, s.SecurityOpt)
		require.Equal(t, "service_healthy", s.DependsOn["temporal"].Condition)
	}
	require.NotEmpty(t, file.Services["worker"].Healthcheck.Test)
	require.NotEmpty(t, file.Services["temporal"].Healthcheck.Test)
	require.NotContains(t, file.Services["starter"].Environment, "OPENAI_API_KEY", "only the worker needs it")
}

// The Temporal server in docker-compose.yml has the same dynamic configuration and search attributes as that of
// `starter dev`.
func TestComposeRunsTheServerWithTheSettingsOfDev(t *testing.T) {
	command := compose(t).Services["temporal"].Command
	for key, value := range devserver.DynamicConfig {
		require.Contains(t, command, "--dynamic-config-value="+key+"="+value)
	}
	for name, kind := range protocol.AttributeTypes() {
		require.Contains(t, command, "--search-attribute="+name+"="+kind)
	}
	require.Contains(t, command, "--ip=0.0.0.0")
}

// Both configurations that docker-compose.yml can use are valid, and their file tools can read the mounted folder.
func TestComposeConfigurationsAreValid(t *testing.T) {
	for _, path := range []string{world.Path("examples/agents.yaml"), world.Path("examples/ollama.yaml")} {
		cfg, err := config.Load(path)
		require.NoError(t, err)
		require.Equal(t, world.Path(), cfg.Tools.Root)
	}
	worker := compose(t).Services["worker"]
	require.Equal(t, "${REAGENT_CONFIG:-examples/agents.yaml}", worker.Environment["REAGENT_CONFIG"])
	require.Contains(t, worker.Volumes, "./examples:/work/examples:ro")
	model, err := config.Load(world.Path("examples/ollama.yaml"))
	require.NoError(t, err)
	require.Equal(t, []string{model.Models["main"].Model}, compose(t).Services["ollama-model"].Command)
}

// Worker and starter accept the commands in docker-compose.yml. The health check of the worker asks the address at which the worker of the
// file answers, and fails if nobody answers there.
func TestComposeCommandsExist(t *testing.T) {
	w := &world.World{T: t}
	worker := compose(t).Services["worker"]
	health := worker.Healthcheck.Test
	require.Equal(t, []string{"CMD", "worker", "--ready"}, health)
	address := worker.Environment[serve.HealthEnv]
	require.Equal(t, "127.0.0.1:8091", address)
	t.Setenv(serve.HealthEnv, fmt.Sprintf("127.0.0.1:%d", world.FreePort(t)))
	out, err := w.Command(health[1], health[2:]...).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "worker: ask the worker at 127.0.0.1:")
	out, err = w.Command("worker", append(worker.Command, "--help")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// The image has static programs, no shell, and a user that is not root. It is built with the Go version in go.mod.
func TestDockerfile(t *testing.T) {
	data, err := os.ReadFile(world.Path("Dockerfile"))
	require.NoError(t, err)
	stages := strings.Split(string(data), "\nFROM ")
	require.Len(t, stages, 3)
	build, last := stages[1], stages[2]
	require.Regexp(t, `golang:\d+\.\d+\.\d+-\w+ AS build`, build)
	require.Contains(t, build, "CGO_ENABLED=0")
	require.Contains(t, build, "./cmd/worker ./cmd/starter")
	require.True(t, strings.HasPrefix(last, "scratch\n"))
	require.Regexp(t, `(?m)^USER [1-9]\d*:[1-9]\d*$`, last)
	for _, needed := range []string{"ca-certificates.crt", "zoneinfo.zip", "ARG VERSION", "ARG REVISION", `ENTRYPOINT ["worker"]`} {
		require.Contains(t, last, needed)
	}
	module, err := os.ReadFile(world.Path("go.mod"))
	require.NoError(t, err)
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(module))[1]
	require.Contains(t, build, "golang:"+wanted+".")
}
