package chat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// menuLines is the largest number of entries of the menu that are on the screen.
	menuLines = 6
	// maxListed is the largest number of names of a folder that the menu offers.
	maxListed = 5000
)

// menu offers what the word before the cursor may become: commands after a slash at the beginning, models
// after /model, and files after @.
type menu struct {
	// at is the index of the selected entry. moved says that the person has selected it.
	at    int
	moved bool
	// closed is the text of the input for which the person has closed the menu.
	closed string
	// dir is the folder whose names are known, or are being read.
	dir     string
	known   bool
	reading bool
	names   []string
}

// choice is one entry of the menu.
type choice struct {
	// shown is the line on the screen, and word is what the word before the cursor becomes.
	shown, word string
}

// commandLines are the lines of the help with the commands, one for each.
var commandLines = slices.DeleteFunc(strings.Split(commandsText, "\n"), func(line string) bool { return !strings.HasPrefix(line, "/") })

// word returns the text of the input, and where its last word begins. It returns false if the cursor is not at the end.
func (m *model) word() (text string, at int, ok bool) {
	text = m.input.Value()
	lines := strings.Split(text, "\n")
	if m.input.Line() != len(lines)-1 || m.input.Column() != len([]rune(lines[len(lines)-1])) {
		return "", 0, false
	}
	at = strings.LastIndexAny(text, " \n\t") + 1
	if quote := strings.LastIndex(text, `@"`); quote >= 0 && strings.Count(text[quote:], `"`) == 1 && (quote == 0 || strings.ContainsAny(text[quote-1:quote], " \n\t")) {
		at = quote
	}
	return text, at, true
}

// choices returns the entries of the menu; none if it is not on the screen.
func (m *model) choices() []choice {
	text, at, ok := m.word()
	if !ok || text == "" || text == m.menu.closed || m.recalled > 0 || m.denying != nil || m.finding != nil || m.picker != nil {
		return nil
	}
	var all []choice
	switch word := text[at:]; {
	case at == 0 && strings.HasPrefix(word, "/"):
		for _, line := range commandLines {
			if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, word) && name != word {
				all = append(all, choice{line, name})
			}
		}
	case text[:at] == "/model ":
		for _, c := range m.choice.entries(m.snap) {
			if strings.HasPrefix(c.word, word) && c.word != word {
				all = append(all, c)
			}
		}
	case strings.HasPrefix(word, "@") && m.o.Files != "" && m.menu.known && m.menu.dir == dirOf(word):
		dir, begin := m.menu.dir, strings.TrimPrefix(pathOf(word), m.menu.dir)
		for _, name := range m.menu.names {
			if !strings.HasPrefix(name, begin) || name == begin || strings.HasPrefix(name, ".") && begin == "" {
				continue
			}
			all = append(all, choice{dir + name, "@" + quotedPath(dir+name)})
		}
	}
	return all
}

// pathOf returns the path of a word such as @"my notes.md".
func pathOf(word string) string { return strings.Trim(strings.TrimPrefix(word, "@"), `"`) }

// dirOf returns the folder of the path of a word, with a slash at its end; empty for the current folder.
func dirOf(word string) string {
	path := pathOf(word)
	return path[:strings.LastIndex(path, "/")+1]
}

func quotedPath(path string) string {
	switch {
	case !strings.ContainsAny(path, " \t"):
		return path
	case strings.HasSuffix(path, "/"):
		return `"` + path
	}
	return `"` + path + `"`
}

// menuKey takes a key for the menu. It returns false if the menu is not on the screen, or if the key is not for it.
func (m *model) menuKey(name string) bool {
	all := m.choices()
	if len(all) == 0 {
		return false
	}
	m.menu.at = min(m.menu.at, len(all)-1)
	text, at, _ := m.word()
	switch name {
	case "down", "up":
		step := 1
		if name == "up" {
			step = len(all) - 1
		}
		m.menu.at, m.menu.moved = (m.menu.at+step)%len(all), true
		return true
	case "esc":
		m.menu.closed = text
		return true
	case "tab":
	case "enter":
		if isCommand := strings.HasPrefix(text, "/") && at == 0; !m.menu.moved && (!isCommand || isName(text)) {
			return false
		}
	default:
		return false
	}
	word := all[m.menu.at].word
	if !strings.HasSuffix(word, "/") {
		word += " "
	}
	m.input.SetValue(text[:at] + word)
	m.menu.at, m.menu.moved = 0, false
	return true
}

// isName reports whether a text is the name of a command.
func isName(text string) bool {
	return slices.ContainsFunc(commandLines, func(line string) bool { name, _, _ := strings.Cut(line, " "); return name == text })
}

// menuView returns the lines of the menu, or of the picker.
func (m *model) menuView() []string {
	if m.picker != nil {
		return m.picker.view(m.width, m.height)
	}
	all := m.choices()
	at := min(m.menu.at, max(0, len(all)-1))
	room := min(menuLines, max(1, m.height/3))
	begin := max(0, min(at-room/2, len(all)-room))
	var lines []string
	for i := begin; i < len(all) && i < begin+room; i++ {
		if i == at {
			lines = append(lines, cut("» "+all[i].shown, m.width))
		} else {
			lines = append(lines, faint.Render(cut("  "+all[i].shown, m.width)))
		}
	}
	return lines
}

// listedMsg has the names in a folder, with a slash behind those of folders.
type listedMsg struct {
	dir   string
	names []string
}

// list reads the folder whose files the menu is to offer. It runs after each event.
func (m *model) list() tea.Cmd {
	text, at, ok := m.word()
	if !ok || !strings.HasPrefix(text[at:], "@") || m.o.Files == "" {
		m.menu.known = false // the folder is read anew for the next word
		return nil
	}
	dir := dirOf(text[at:])
	if m.menu.reading || m.menu.known && m.menu.dir == dir {
		return nil
	}
	m.menu.reading = true
	root := m.o.Files
	return func() tea.Msg {
		path := dir
		if !filepath.IsAbs(dir) {
			path = filepath.Join(root, dir)
		}
		return listedMsg{dir, namesIn(path)}
	}
}

// namesIn returns the names in a folder that can be shown as they are. If it cannot read the folder, it returns none.
func namesIn(path string) []string {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxListed) // what was read before an error is offered
	var names []string
	for _, e := range entries {
		name := e.Name()
		if printable.Line(name, len(name)) != name || strings.Contains(name, `"`) {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (m *model) listed(msg listedMsg) {
	m.menu.dir, m.menu.names, m.menu.known, m.menu.reading = msg.dir, msg.names, true, false
}
