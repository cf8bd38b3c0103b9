package builtin

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/reagent-dev/reagent/tool"
)

const (
	defaultEntries = 200
	maxEntries     = 2000
	// maxVisited limits the number of files and folders that one call visits in a large tree.
	maxVisited = 100_000
)

type listFilesIn struct {
	Path      string `json:"path,omitempty" jsonschema:"folder, relative to the root; the root if left out"`
	Glob      string `json:"glob,omitempty" jsonschema:"only entries that match, such as *.go or src/**/*.go; with a slash it is matched against the path below the folder"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"also list what is in the folders below"`
	Limit     int    `json:"limit,omitempty" jsonschema:"most entries to list; 200 if left out and 2000 at most"`
}

func (r root) listFiles() tool.Tool {
	return tool.MustFunc("list_files", "Lists the files and folders of a folder, sorted by path, with sizes in bytes.",
		tool.ReadOnly, r.list)
}

func (r root) list(ctx context.Context, in listFilesIn) (string, error) {
	dir, start, err := r.open(in.Path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	pattern := glob(in.Glob)
	limit := within(in.Limit, defaultEntries, maxEntries)
	if err := pattern.valid(); err != nil {
		return "", err
	}
	if info, err := dir.Stat(start); err != nil {
		return "", readableError(start, err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is a file, not a folder", start)
	}

	var b strings.Builder
	listed, more := 0, false
	err = walk(ctx, dir.FS(), start, func(name string, d fs.DirEntry) error {
		below := strings.TrimPrefix(name, start+"/")
		if pattern.match(below) {
			if listed == limit {
				more = true
				return fs.SkipAll
			}
			listed++
			b.WriteString(name + describe(d) + "\n")
		}
		if d.IsDir() && !in.Recursive && !pattern.deep() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return "", readableError(start, err)
	}
	switch {
	case listed == 0:
		b.WriteString("[no entries]\n")
	case more:
		fmt.Fprintf(&b, "[there are more than %d entries: use a glob, another folder, or a limit]\n", limit)
	}
	return b.String(), nil
}

func describe(d fs.DirEntry) string {
	switch {
	case d.IsDir():
		return "/"
	case d.Type()&fs.ModeSymlink != 0:
		return " (link)"
	case !d.Type().IsRegular():
		return " (special)"
	}
	info, err := d.Info()
	if err != nil { // the file was removed in the meantime
		return ""
	}
	return fmt.Sprintf(" (%d)", info.Size())
}

// walk calls the function `visit` for each file and folder below the folder `start`, but not for this folder itself. The order
// is that of [fs.WalkDir]. walk does not follow links, and it skips folders that it cannot read. `visit` may return
// [fs.SkipDir] to skip a folder, and [fs.SkipAll] to end the walk.
//
// walk returns an error in four cases: `visit` returned another error, the folder `start` cannot be read, there are more than
// [maxVisited] files and folders, or `ctx` has ended.
func walk(ctx context.Context, fsys fs.FS, start string, visit func(name string, d fs.DirEntry) error) error {
	visited := 0
	return fs.WalkDir(fsys, start, func(name string, d fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			if name == start {
				return err
			}
			return nil
		}
		if name == start {
			return nil
		}
		if visited++; visited > maxVisited {
			return fmt.Errorf("the folder has more than %d entries: name a folder below it", maxVisited)
		}
		return visit(path.Clean(name), d)
	})
}

// `n` is what the model asks for; 0 or less means that it asks for nothing.
func within(n, fallback, maximum int) int {
	return min(cmp.Or(max(n, 0), fallback), maximum)
}
