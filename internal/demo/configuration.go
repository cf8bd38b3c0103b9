package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reagent-dev/reagent/config"
)

// guideAgent and readerAgent are the names of the demo's agents. The guide has the reader as a sub-agent.
const (
	guideAgent  = "guide"
	readerAgent = "reader"
)

const configurationText = `# The configuration of the demo's worker.
task_queue: %[1]s

models:
  main: {model: %[2]q, base_url: %[3]q%[4]s}

mcp_servers:
  desk: {url: %[5]q}

builtin:
  files_root: %[6]q

agents:
  guide:
    description: answers questions about the files of a folder
    model: main
    instructions: |
      You answer a question about the files of a folder. Go about it in this order:
      1. See what is there, with list_files and search_files.
      2. Have the reader read the one file that matters most and report.
      3. In one reply call both publish, with one sentence, and measure, with a
         suffix such as .go. Call each of them once.
      4. Answer in at most five sentences and name the files.
    tools: [list_files, search_files, desk.*]
    agents: [reader]
    limits: {model_calls: 20, time: 10m}
  reader:
    description: reads a file and reports on it
    model: main
    instructions: |
      You read the file that you are asked about with read_file, and report in one sentence.
    tools: [list_files, read_file, search_files]
    limits: {model_calls: 10, time: 5m}
`

// writeConfiguration writes agents.yaml into the folder dir and returns the path of the file.
func writeConfiguration(dir string, m *model, d *toolServer) (string, error) {
	key := ""
	if m.keyed() {
		key = ", api_key_env: " + config.DefaultAPIKeyEnv
	}
	path := filepath.Join(dir, "agents.yaml")
	text := fmt.Sprintf(configurationText, config.DefaultTaskQueue, m.name, m.url+"/v1", key, d.url, d.root)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write the demo's configuration: %w", err)
	}
	return path, nil
}

// environment returns the environment of the worker: that of this program without the variables that could name another Temporal
// server or configuration. TEMPORAL_CONFIG_FILE names a file that does not exist, so that the user's own file is not read.
func environment(dir string) []string {
	var kept []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TEMPORAL_") && !strings.HasPrefix(e, "REAGENT_CONFIG=") {
			kept = append(kept, e)
		}
	}
	return append(kept, "TEMPORAL_CONFIG_FILE="+filepath.Join(dir, "none.toml"))
}
