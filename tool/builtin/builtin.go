// Package builtin has the built-in tools of the worker: arithmetic, the current time, HTTP GET requests, reading and writing files
// below one folder, and commands of a shell.
//
// A model writes the arguments of the tools, and a model may follow instructions in any text that it has read. So each tool limits
// the time of a call and the size of its result. No tool reads or writes anything that [Options] does not allow, except the shell:
// see [Shell] for what commands can do. Calls of the tools that change something need a person's approval, unless the approval
// policy of the agent has a rule for them: see [tool.Spec.NeedsApproval].
package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/tool"
)

// Options configure the built-in tools. With the zero value, [Tools] returns only the tools that need no configuration.
type Options struct {
	// Root is the folder that the file tools can read and write, including its subfolders. The tools do not follow a symbolic link that
	// leads out of this folder. If Root is empty, there are no file tools.
	Root string
	// Secret lists the paths of files that the file tools must neither read nor write. The tools also refuse such a file under another name,
	// for example through a hard link or a symbolic link. The files need not exist.
	Secret []string
	// Protected lists the paths of files that the file tools must not write, such as the configuration of the worker. As with
	// Secret, another name for such a file does not help. The files need not exist.
	Protected []string
	// MaxFileBytes limits the size, in bytes, of the files that the tool `search_files` reads and that the tools `write_file` and
	// `edit_file` write. The tool `search_files` skips larger files. Defaults to 4 MiB.
	MaxFileBytes int64

	// AllowPrivate lets the tool `http_get` connect to loopback, private and link-local addresses. The metadata service of a
	// cloud provider usually has such an address. This service may return credentials.
	AllowPrivate bool
	// HTTPTimeout limits the duration of one call of the tool `http_get`, including redirects and the reading of the body.
	// Defaults to 30 seconds.
	HTTPTimeout time.Duration
	// MaxHTTPBytes limits how many bytes of a response body the tool `http_get` reads. The bytes are counted after
	// decompression. Defaults to 1 MiB.
	MaxHTTPBytes int64

	// Shell configures the tool `shell`. If Shell is nil, there is no such tool.
	Shell *Shell

	// Now returns the current time for the tool `current_time`. Defaults to [time.Now].
	Now func() time.Time
}

// Tools returns the built-in tools `calculator`, `current_time` and `http_get`. If [Options.Root] is set, Tools also returns
// `list_files`, `read_file`, `search_files`, `write_file` and `edit_file`. If [Options.Shell] is set, Tools also returns `shell`.
// Tools returns an error if Options.Root is set but is not an existing folder, or if [Shell.Folder] is not an existing folder.
func Tools(o Options) ([]tool.Tool, error) {
	o.MaxFileBytes = cmp.Or(max(o.MaxFileBytes, 0), 4<<20)
	o.HTTPTimeout = cmp.Or(max(o.HTTPTimeout, 0), 30*time.Second)
	o.MaxHTTPBytes = cmp.Or(max(o.MaxHTTPBytes, 0), 1<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	tools := []tool.Tool{calculator(), currentTime(o.Now), httpGet(o)}
	if o.Shell != nil {
		shell, err := newShell(*o.Shell)
		if err != nil {
			return nil, fmt.Errorf("the working folder of the tool shell cannot be used: %w; name an existing folder", err)
		}
		tools = append(tools, shell)
	}
	if o.Root == "" {
		return tools, nil
	}
	var err error
	if o.Root, err = existingFolder(o.Root); err != nil {
		return nil, fmt.Errorf("the root folder of the file tools cannot be used: %w; name an existing folder", err)
	}
	r := root{o, &sync.Mutex{}}
	return append(tools, r.listFiles(), r.readFile(), r.searchFiles(), r.writeFile(), r.editFile()), nil
}

func existingFolder(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	return path, err
}
