package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/tool"
)

// maxPlaces is the largest number of places that the tool `edit_file` counts and names if a text occurs more than once. The number
// also limits the time of the search.
const maxPlaces = 10

type editFileIn struct {
	Path string `json:"path" jsonschema:"file, relative to the root"`
	Old  string `json:"old" jsonschema:"the text to replace, exactly as it is in the file; it must occur only once, so add lines around it if need be"`
	New  string `json:"new" jsonschema:"the text to put in its place; empty to delete the text"`
}

// The effect is [tool.AtMostOnce], because a second run of the same call is not the same as one run. If `old` is a part of `new`,
// the second run would insert the rest of `new` again. If it is not, the second run would fail with "does not occur", although the
// first has changed the file. If the outcome of a call is unknown, the model can read the file.
func (r root) editFile() tool.Tool {
	return asking{tool.MustFunc("edit_file",
		"Changes a text file: replaces a text that occurs exactly once. Nothing is changed if the text is missing or occurs more than once.",
		tool.AtMostOnce, r.edit)}
}

func (r root) edit(ctx context.Context, in editFileIn) (string, error) {
	switch in.Old {
	case "":
		return "", errors.New("old is empty: write the text to replace; to create a file, use write_file")
	case in.New:
		return "", errors.New("old and new are equal: there is nothing to change")
	}
	dir, name, err := r.open(in.Path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	// Without the lock, two calls in parallel could read the same content, and one of the two changes would be lost.
	r.writing.Lock()
	defer r.writing.Unlock()
	old, err := r.openTarget(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", readableError(name, err)
	}
	if err != nil {
		return "", err
	}
	defer old.Close()
	text, err := r.readAll(old)
	if err != nil {
		return "", readableError(name, err)
	}
	if isBinary, err := binary(strings.NewReader(text)); err != nil || isBinary {
		return "", fmt.Errorf("%s is a binary file of %d bytes; this tool edits only text", name, old.info.Size())
	}
	at, err := onlyPlace(name, text, in.Old)
	if err != nil {
		return "", err
	}
	edited := text[:at] + in.New + text[at+len(in.Old):]
	if err := r.checkSize(name, len(edited)); err != nil {
		return "", err
	}
	if err := r.replace(ctx, dir, name, old, edited); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", tool.ErrNotRun, err)
		}
		return "", err
	}
	first := line(text, at)
	done := fmt.Sprintf("the new text begins on line %d", first)
	if last := line(edited, at+len(strings.TrimSuffix(in.New, "\n"))); last > first {
		done = fmt.Sprintf("the new text is on lines %d to %d", first, last)
	}
	if in.New == "" {
		done = fmt.Sprintf("deleted %s from line %d on", plural.Of(len(in.Old), "byte"), first)
	}
	return fmt.Sprintf("changed %s: %s; the file has now %s\n", name, done, amount(edited)), nil
}

// onlyPlace returns the byte offset of `old` in `text`. It returns an error if there is no place, or more than one. Places may overlap: in
// "aaa" there are two places of "aa".
func onlyPlace(name, text, old string) (int, error) {
	var places []int
	for from := 0; len(places) <= maxPlaces; {
		at := strings.Index(text[from:], old)
		if at < 0 {
			break
		}
		places = append(places, from+at)
		from += at + 1
	}
	switch {
	case len(places) == 1:
		return places[0], nil
	case len(places) == 0 && strings.Contains(text, "\r\n") && !strings.Contains(old, "\r"):
		return 0, fmt.Errorf("old does not occur in %s; lines of this file end with \\r\\n, so old may need \\r\\n, too", name)
	case len(places) == 0:
		return 0, fmt.Errorf("old does not occur in %s: read the file, and copy the text exactly, with its white space", name)
	}
	var lines []string
	for _, at := range places[:min(len(places), maxPlaces)] {
		lines = append(lines, fmt.Sprint(line(text, at)))
	}
	times, more := fmt.Sprintf("%d times", len(places)), ""
	if len(places) > maxPlaces {
		times, more = fmt.Sprintf("more than %d times", maxPlaces), " and further on"
	}
	return 0, fmt.Errorf("old occurs %s in %s, on lines %s%s: add lines around it, so that it occurs only once",
		times, name, strings.Join(lines, ", "), more)
}

func line(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }
