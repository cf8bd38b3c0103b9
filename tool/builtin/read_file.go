package builtin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/reagent-dev/reagent/tool"
)

const (
	defaultLines = 2000
	maxLines     = 20_000
	// maxRead limits the text that one call of the tool `read_file` returns, in bytes, without the note at the end.
	maxRead = 256 << 10
	// maxScan limits the part of a file that one call of the tool `read_file` reads, in bytes. This part includes the lines
	// before the first returned line.
	maxScan = 1 << 30
)

type readFileIn struct {
	Path   string `json:"path" jsonschema:"file, relative to the root"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to read, counted from 1; 1 if left out"`
	Limit  int    `json:"limit,omitempty" jsonschema:"most lines to read; 2000 if left out"`
}

func (r root) readFile() tool.Tool {
	return tool.MustFunc("read_file", "Reads lines of a text file. A note at the end tells when there is more.",
		tool.ReadOnly, r.read)
}

func (r root) read(ctx context.Context, in readFileIn) (string, error) {
	dir, name, err := r.open(in.Path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	f, info, err := r.openFile(dir, name, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if isBinary, err := binary(f); err != nil {
		return "", readableError(name, err)
	} else if isBinary {
		return "", fmt.Errorf("%s is a binary file of %d bytes; this tool reads only text", name, info.Size())
	}

	first, limit := max(in.Offset, 1), within(in.Limit, defaultLines, maxLines)
	lines := bufio.NewReaderSize(&scan{ctx: ctx, file: f, left: maxScan}, 64<<10)
	for n := 1; n < first; n++ {
		err := skipLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			return "", fmt.Errorf("%s has %d lines: there is no line %d", name, n-1, first)
		case errors.Is(err, errScanned):
			return "", fmt.Errorf("line %d of %s is not in the first %d MiB of the file; the tool reads only this part", first, name, maxScan>>20)
		case err != nil:
			return "", readableError(name, err)
		}
	}

	var b strings.Builder
	for n := first; n < first+limit; n++ {
		line, cut, err := readLine(lines, maxRead)
		if errors.Is(err, io.EOF) {
			if n == first && first > 1 {
				return "", fmt.Errorf("%s has %d lines: there is no line %d", name, n-1, first)
			}
			if n == 1 {
				return "[the file is empty]\n", nil
			}
			return strings.ToValidUTF8(b.String(), "\uFFFD"), nil
		}
		if err != nil {
			return "", readableError(name, err)
		}
		if b.Len()+len(line) > maxRead && n > first {
			return note(&b, first, n-1, ""), nil
		}
		b.WriteString(line)
		if cut {
			return note(&b, first, n, fmt.Sprintf("; line %d is cut after %d bytes", n, maxRead)), nil
		}
	}
	if _, err := lines.Peek(1); err == nil {
		return note(&b, first, first+limit-1, ""), nil
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), nil
}

// `remark` follows the line numbers, such as "; line 3 is cut after 262144 bytes"; it may be empty.
func note(b *strings.Builder, first, last int, remark string) string {
	text := strings.ToValidUTF8(b.String(), "\uFFFD")
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + fmt.Sprintf("[lines %d to %d%s; there is more: continue with offset %d]\n", first, last, remark, last+1)
}

// scan is an [io.Reader] for a file. It stops after a maximum number of bytes, and when the context ends. Without the maximum,
// reading could take too long: a sparse file can be larger than the disk, because its holes read as zeros.
type scan struct {
	ctx  context.Context
	file io.Reader
	left int // the number of bytes that may still be read
}

var errScanned = errors.New("the tool reads only the first 1 GiB of a file")

// Read implements [io.Reader]. After the maximum number of bytes, it returns [errScanned]. After the end of the context, it
// returns the error of the context.
func (s *scan) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.left <= 0 {
		return 0, errScanned
	}
	n, err := s.file.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// If the line is longer than `maxBytes`, the rest of it is not read, and `truncated` is true. The error is [io.EOF] if there is no
// further line.
func readLine(r *bufio.Reader, maxBytes int) (line string, truncated bool, err error) {
	var b strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		room := maxBytes - b.Len()
		b.Write(part[:min(len(part), room)])
		switch {
		case len(part) > room:
			return b.String(), true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && b.Len() > 0:
			err = nil
		}
		return b.String(), false, err
	}
}

// The error is [io.EOF] if there is no further line.
func skipLine(r *bufio.Reader) error {
	for some := false; ; some = true {
		part, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (some || len(part) > 0):
			return nil
		}
		return err
	}
}
