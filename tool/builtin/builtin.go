// Package builtin is the tools that come with the worker: arithmetic, the time,
// reading files below one folder, and reading the web. All of them are read-only.
//
// Their input is what a model wrote, and the model may have read anything:
// every tool is bounded in time and size, and none reaches out of what Options
// allow.
package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/reagent-dev/reagent/tool"
)

// Options configure the built-in tools. The zero value gives the tools that
// need no configuration.
type Options struct {
	// Root is the folder that the file tools read below. Empty leaves the file tools
	// out. A symbolic link that leads out of it is not followed.
	Root string
	// Secret are files that the file tools do not read, under whatever name: a hard or symbolic link to one of them is
	// that file. They need not exist.
	Secret []string
	// MaxFileBytes is the size up to which search_files reads a file. Defaults to 4 MiB.
	MaxFileBytes int64

	// AllowPrivate lets http_get reach loopback, private and link-local addresses,
	// which includes the metadata service of a cloud.
	AllowPrivate bool
	// HTTPTimeout limits the duration of one http_get, redirects and body included.
	// Defaults to 30 seconds.
	HTTPTimeout time.Duration
	// MaxHTTPBytes limits the part of a response that http_get reads, after decompression, in bytes.
	// Defaults to 1 MiB.
	MaxHTTPBytes int64

	// Now tells the time. Defaults to [time.Now].
	Now func() time.Time
}

// Tools returns the built-in tools: calculator, current_time, http_get and, when
// Options.Root is set, list_files, read_file and search_files. It fails when the
// root is not a folder.
func Tools(o Options) ([]tool.Tool, error) {
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = 4 << 20
	}
	if o.HTTPTimeout <= 0 {
		o.HTTPTimeout = 30 * time.Second
	}
	if o.MaxHTTPBytes <= 0 {
		o.MaxHTTPBytes = 1 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	tools := []tool.Tool{calculator(), currentTime(o.Now), httpGet(o)}
	if o.Root == "" {
		return tools, nil
	}
	path, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("root of the file tools: %w", err)
	}
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("root of the file tools: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("root of the file tools: %s is not a folder", path)
	}
	r := root{path: path, secret: o.Secret, maxFileBytes: o.MaxFileBytes}
	return append(tools, r.listFiles(), r.readFile(), r.searchFiles()), nil
}
