package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/tool"
)

type writeFileIn struct {
	Path    string `json:"path" jsonschema:"file, relative to the root"`
	Content string `json:"content" jsonschema:"the whole new content of the file"`
}

// The effect is [tool.Idempotent]: after one run and after several runs, the file has the same content. If somebody else changes the file
// between two runs of the same call, the second run replaces this change.
func (r root) writeFile() tool.Tool {
	return asking{tool.MustFunc("write_file",
		"Writes a text file: creates it, with its folders, or replaces its whole content. To change a part of a file, use edit_file.",
		tool.Idempotent, r.write)}
}

func (r root) write(ctx context.Context, in writeFileIn) (string, error) {
	dir, name, err := r.open(in.Path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if err := r.checkSize(name, len(in.Content)); err != nil {
		return "", err
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := dir.MkdirAll(path.Dir(name), 0o777); err != nil { // the umask decides, as for any program
		return "", readableError(path.Dir(name), err)
	}
	old, err := r.openTarget(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := r.replace(ctx, dir, name, nil, in.Content); err != nil {
			return "", err
		}
		return fmt.Sprintf("created %s with %s\n", name, amount(in.Content)), nil
	}
	if err != nil {
		return "", err
	}
	defer old.Close()
	before, err := r.readAll(old)
	if err == nil && before == in.Content {
		return fmt.Sprintf("%s already has this content: %s\n", name, amount(in.Content)), nil
	}
	if err := r.replace(ctx, dir, name, old, in.Content); err != nil {
		return "", err
	}
	return fmt.Sprintf("replaced the content of %s: it has now %s, and had %d bytes before\n", name, amount(in.Content), old.info.Size()), nil
}

func amount(text string) string {
	lines := slices.Collect(strings.Lines(text))
	return fmt.Sprintf("%d bytes in %s", len(text), plural.Of(len(lines), "line"))
}
