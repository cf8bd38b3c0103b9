package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// components writes the list of the modules on which the packages depend, on any platform, in the form of CycloneDX. The programs contain
// fewer: some are for tests and for other platforms.
func components(ctx context.Context, path, version string) error {
	const tool = "bin/cyclonedx-gomod"
	for _, args := range [][]string{
		{"go", "build", "-C", "internal/pins/sbom", "-mod=readonly", "-o", "../../../" + tool, "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod"},
		{tool, "mod", "-json", "-std", "-licenses", "-noserial", "-notimestamp", "-short-purls", "-output", path},
	} {
		step := exec.CommandContext(ctx, args[0], args[1:]...)
		step.Stderr = os.Stderr
		if err := step.Run(); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
	}
	list, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if list, err = settled(list, version); err != nil {
		return err
	}
	return os.WriteFile(path, list, 0o644) //nolint:gosec // everybody may read it
}

// settled returns a list of components without what differs between two clones of one commit: the hashes of the tool that made the
// list, and the version of the module, which the tool takes from the tags of the clone.
func settled(list []byte, version string) ([]byte, error) {
	var all struct {
		Metadata struct {
			Component struct{ Name, Version string }
		}
	}
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, err
	}
	own := all.Metadata.Component
	if own.Name == "" || own.Version == "" {
		return nil, errors.New("the list of components (SBOM) has no name or no version in metadata.component; check the output of cyclonedx-gomod")
	}
	text := strings.ReplaceAll(string(list), own.Name+"@"+own.Version, own.Name+"@"+version)

	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, err
	}
	metadata := fields["metadata"].(map[string]any)
	metadata["component"].(map[string]any)["version"] = version
	delete(metadata, "tools")
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	err := to.Encode(fields)
	return out.Bytes(), err
}
