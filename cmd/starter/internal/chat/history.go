package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

const (
	// maxHistory is the number of texts that the history keeps.
	maxHistory = 500
	// maxHistoryText is the size in bytes of the longest text that the history keeps.
	maxHistoryText = 10_000
	// maxHistoryFile is the size in bytes above which the file is written anew with its newest texts.
	maxHistoryFile = 1 << 20
)

// History is the file with the texts that a person has typed in chats, one JSON string in each line, oldest first. Several chats may use the
// file at the same time.
type History struct {
	path  string
	texts []string
}

// HistoryPath returns the path of the history in the user's folder for states: $XDG_STATE_HOME, or ~/.local/state; on Windows %LocalAppData%.
func HistoryPath() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	var err error
	switch {
	case filepath.IsAbs(dir):
	case runtime.GOOS == "windows":
		dir, err = os.UserCacheDir()
	default:
		dir, err = os.UserHomeDir()
		dir = filepath.Join(dir, ".local", "state")
	}
	if err != nil {
		return "", fmt.Errorf("the folder for the history of the chat is not known: %w; set XDG_STATE_HOME", err)
	}
	return filepath.Join(dir, "reagent", "chat-history"), nil
}

// OpenHistory reads the history from a file. A file that does not exist is an empty history. Lines that are no JSON strings are left out. A
// file that has become too large is written anew. The error says that the file cannot be read or written.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return h, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the history of the chat: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			h.texts = append(h.texts, text)
		}
	}
	h.texts = h.texts[max(0, len(h.texts)-maxHistory):]
	if len(data) > maxHistoryFile {
		if err := h.rewrite(); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *History) rewrite() error {
	var lines [][]byte
	size := 0
	for _, text := range slices.Backward(h.texts) {
		line := historyLine(text)
		if size += len(line); size > maxHistoryFile/2 {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	written := h.path + ".new" // so that a chat that reads meanwhile sees a whole file
	if err := os.WriteFile(written, bytes.Join(lines, nil), 0o600); err != nil {
		return fmt.Errorf("write the history of the chat: %w", err)
	}
	if err := os.Rename(written, h.path); err != nil {
		return fmt.Errorf("write the history of the chat: %w", err)
	}
	return nil
}

func historyLine(text string) []byte {
	line, _ := json.Marshal(text) // a string is always JSON
	return append(line, '\n')
}

// keep appends a text to the file. Only the user can read the file.
func (h *History) keep(text string) error {
	if len(text) > maxHistoryText {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("write the history of the chat: %w", err)
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the history of the chat: %w", err)
	}
	_, err = f.Write(historyLine(text)) // one write, so that lines of several chats do not mix
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the history of the chat: %w", err)
	}
	return nil
}
