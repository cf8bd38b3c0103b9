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
// brings nothing; `missing` has those that look like files. The error says which file cannot be a part of a message, and why.
func attached(root string, paths []string) (texts string, missing []string, err error) {
	var b strings.Builder
	room := maxAttached
	for _, named := range paths {
		path, size := regularFile(root, named)
		switch {
		case path == "" && seemsFile(root, named):
			missing = append(missing, named)
			continue
		case path == "":
			continue
		case size > int64(room):
			return "", nil, fmt.Errorf("the files of one message may have %s bytes, and with %s they have more; name a part of it, or let the agent read it", grouped(maxAttached), printable.Name(named))
		}
		data, err := os.ReadFile(inRoot(root, path))
		switch {
		case err != nil:
			return "", nil, err
		case !utf8.Valid(data) || slices.Contains(data, 0):
			return "", nil, fmt.Errorf("%s is no text in UTF-8", printable.Name(named))
		case len(data) > room:
			return "", nil, errors.New(printable.Name(named) + " grows while it is read; copy it first")
		}
		room -= len(data)
		b.WriteString("\n\n<file path=" + strconv.Quote(path) + ">\n" + strings.TrimSuffix(string(data), "\n") + "\n</file>")
	}
	return b.String(), missing, nil
}

// regularFile returns the path and the size of a named file. The path is empty if there is no such file. A full stop or a comma at the end
// of the name may belong to the sentence.
func regularFile(root, named string) (path string, size int64) {
	for _, path := range []string{named, trimmedName(named)} {
		if info, err := os.Stat(inRoot(root, path)); path != "" && err == nil && info.Mode().IsRegular() {
			return path, info.Size()
		}
	}
	return "", 0
}

func trimmedName(named string) string { return strings.TrimRight(named, ".,;:!?)") }

func inRoot(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

// extension matches the end of a name that looks like that of a file, such as notes.md.
var extension = regexp.MustCompile(`\.[A-Za-z][A-Za-z0-9]{0,4}$`)

// seemsFile reports whether a name that is no regular file looks like one: it has a slash or an extension, or it is the beginning of the
// name of a file in its folder. The name of a folder does not.
func seemsFile(root, named string) bool {
	name := trimmedName(named)
	if info, err := os.Stat(inRoot(root, name)); name == "" || err == nil && info.IsDir() {
		return false
	}
	if strings.Contains(name, "/") || extension.MatchString(name) {
		return true
	}
	return slices.ContainsFunc(namesIn(root), func(file string) bool { return strings.HasPrefix(file, name) && !strings.HasSuffix(file, "/") })
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
	out     *outgoing
	files   string
	missing []string
	err     error
}

// bring reads the files that a message names. The message, and all later ones, wait until they are read.
func (m *model) bring(out *outgoing, paths []string) tea.Cmd {
	if m.o.Files == "" || len(paths) == 0 {
		return nil
	}
	out.reading = true
	root := m.o.Files
	return func() tea.Msg {
		files, missing, err := attached(root, paths)
		return attachedMsg{out, files, missing, err}
	}
}

// filesRead takes the files of a message. If the message names a file that is not there, it goes back into the input once, because the agent
// would not get the file.
func (m *model) filesRead(msg attachedMsg) {
	msg.out.reading = false
	msg.out.text += msg.files
	again := doubt{text: msg.out.typed}
	if len(msg.missing) > 0 && msg.err == nil && m.doubted != again {
		m.doubted = again
		msg.err = fmt.Errorf("there is no file %s; Enter sends the message without it", namesText(msg.missing))
	}
	if msg.err != nil {
		m.giveBack(msg.out, msg.err)
	}
}
