package chat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/internal/printable"
)

// maxAttached is the largest number of bytes of all files that one message brings.
const maxAttached = 100_000

// mention matches a file that a person names in a message, such as @notes.md or @"my notes.md".
var mention = regexp.MustCompile(`(?:^|\s)@(?:"([^"\n]+)"|([^\s"]+))`)

// mentioned returns the paths that a text names with @, each once.
func mentioned(text string) []string {
	var paths []string
	for _, found := range mention.FindAllStringSubmatch(text, -1) {
		if path := found[1] + found[2]; !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// attached returns the texts of the named files, as they stand at the end of a message. A path that is no file, such as the name of a person,
// brings nothing. The error says which file cannot be a part of a message, and why.
func attached(root string, paths []string) (string, error) {
	var b strings.Builder
	room := maxAttached
	for _, named := range paths {
		path, size := regularFile(root, named)
		switch {
		case path == "":
			continue
		case size > int64(room):
			return "", fmt.Errorf("the files of one message may have %s bytes, and with %s they have more; name a part of it, or let the agent read it", grouped(maxAttached), printable.Name(named))
		}
		data, err := os.ReadFile(filepath.Join(root, path))
		if filepath.IsAbs(path) {
			data, err = os.ReadFile(path)
		}
		switch {
		case err != nil:
			return "", err
		case !utf8.Valid(data) || slices.Contains(data, 0):
			return "", fmt.Errorf("%s is no text in UTF-8", printable.Name(named))
		case len(data) > room:
			return "", errors.New(printable.Name(named) + " grows while it is read; copy it first")
		}
		room -= len(data)
		b.WriteString("\n\n<file path=" + strconv.Quote(path) + ">\n" + strings.TrimSuffix(string(data), "\n") + "\n</file>")
	}
	return b.String(), nil
}

// regularFile returns the path and the size of a named file. The path is empty if there is no such file. A full stop or a comma at the end
// of the name may belong to the sentence.
func regularFile(root, named string) (path string, size int64) {
	for _, path := range []string{named, strings.TrimRight(named, ".,;:!?)")} {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(root, path)
		}
		if info, err := os.Stat(full); path != "" && err == nil && info.Mode().IsRegular() {
			return path, info.Size()
		}
	}
	return "", 0
}

// attachment matches the text of a file in a message.
var attachment = regexp.MustCompile(`(?s)\n\n<file path=("(?:[^"\\\n]|\\.)*")>\n(.*?)\n</file>`)

// foldedMessage returns a message in which a short line takes the place of the text of each file.
func foldedMessage(text string) string {
	return attachment.ReplaceAllStringFunc(text, func(block string) string {
		found := attachment.FindStringSubmatch(block)
		lines := strings.Count(found[2], "\n") + 1
		if lines == 1 {
			return "\n[file " + found[1] + ": 1 line]"
		}
		return fmt.Sprintf("\n[file %s: %s lines]", found[1], grouped(lines))
	})
}

// typedMessage returns what the person has typed of a message, without the texts of files.
func typedMessage(text string) string { return attachment.ReplaceAllString(text, "") }

// attachedMsg has the texts of the files that a message brings.
type attachedMsg struct {
	out   *outgoing
	files string
	err   error
}

// bring reads the files that a message names. The message, and all later ones, wait until they are read.
func (m *model) bring(out *outgoing, paths []string) tea.Cmd {
	if m.o.Files == "" || len(paths) == 0 {
		return nil
	}
	out.reading = true
	root := m.o.Files
	return func() tea.Msg {
		files, err := attached(root, paths)
		return attachedMsg{out, files, err}
	}
}

func (m *model) filesRead(msg attachedMsg) {
	msg.out.reading = false
	msg.out.text += msg.files
	if msg.err != nil {
		m.giveBack(msg.out, msg.err)
	}
}
