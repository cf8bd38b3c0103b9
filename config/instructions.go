package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// MaxInstructionsFile is the largest size of a file with instructions, in bytes.
const MaxInstructionsFile = 1 << 20

// instructionsFile returns a function that reads the path of a file, and then the file.
func (r *reader) instructionsFile(a *Agent) func(place) {
	return func(p place) {
		if r.filePath(&a.InstructionsFile)(p); p.shape != nil || r.hasProblem(p.path) {
			return
		}
		text, err := readInstructions(a.InstructionsFile)
		if err != nil {
			r.problemf(p.path, "%v", err)
		}
		a.Instructions = text
	}
}

// readInstructions returns the content of a file, without the byte order mark that some editors write before it.
func readInstructions(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return "", errors.New("is empty; write the path of a file with the instructions, or remove it")
	case err != nil:
		return "", fmt.Errorf("the file with the instructions cannot be read: %w; create it, or correct the path", err)
	case !info.Mode().IsRegular(): // a pipe would let the reader wait
		return "", fmt.Errorf("%s is not a regular file; write the path of a text file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the file with the instructions cannot be read: %w; let this user read it", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxInstructionsFile+1))
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	switch {
	case err != nil:
		return "", fmt.Errorf("the file with the instructions cannot be read: %w", err)
	case len(content) > MaxInstructionsFile:
		return "", fmt.Errorf("%s is larger than 1 MiB, the limit for instructions; shorten it", path)
	case len(bytes.TrimSpace(content)) == 0:
		return "", fmt.Errorf("%s is empty; write the instructions into it, or remove instructions_file", path)
	case !utf8.Valid(content):
		return "", fmt.Errorf("%s is not a text in UTF-8; store it as UTF-8", path)
	}
	return string(content), nil
}
