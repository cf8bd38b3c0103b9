package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/pattern"
	"github.com/reagent-dev/reagent/tool"
)

const (
	defaultMatches = 100
	maxMatches     = 1000
	maxMatchLine   = 300 // the number of bytes that are shown of a line
	// maxQuery limits the length of the query in bytes. maxQuerySize limits the number of instructions of the compiled
	// query.
	maxQuery     = 1000
	maxQuerySize = 2000
	// maxSearchedLine limits the part of a line that is searched, in bytes. To search 32 KiB with a query of 2000
	// instructions takes half a second.
	maxSearchedLine = 32 << 10
)

type searchFilesIn struct {
	Query      string `json:"query" jsonschema:"regular expression in RE2 syntax, matched line by line"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"take the query as plain text"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Path       string `json:"path,omitempty" jsonschema:"folder or file, relative to the root; the root if left out"`
	Glob       string `json:"glob,omitempty" jsonschema:"only files that match, such as *.go or src/**/*.go"`
	MaxMatches int    `json:"max_matches,omitempty" jsonschema:"most lines to show; 100 if left out and 1000 at most"`
}

func (r root) searchFiles() tool.Tool {
	return tool.MustFunc("search_files", "Searches text files for lines and shows them as path:line: text. Binary and very large files and .git are passed over.",
		tool.ReadOnly, r.search)
}

func (r root) search(ctx context.Context, in searchFilesIn) (string, error) {
	query, err := in.compile()
	if err != nil {
		return "", err
	}
	only := glob(in.Glob)
	if err := only.valid(); err != nil {
		return "", err
	}
	dir, start, err := r.open(in.Path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	info, err := dir.Stat(start)
	if err != nil {
		return "", readableError(start, err)
	}

	s := search{root: r, dir: dir, query: query, limit: within(in.MaxMatches, defaultMatches, maxMatches)}
	if info.IsDir() {
		err = walk(ctx, dir.FS(), start, func(name string, d fs.DirEntry) error {
			if d.IsDir() && d.Name() == ".git" {
				return fs.SkipDir
			}
			if !d.Type().IsRegular() || !only.match(strings.TrimPrefix(name, start+"/")) {
				return nil
			}
			return s.file(ctx, name)
		})
	} else if err = s.file(ctx, start); errors.Is(err, fs.SkipAll) {
		err = nil
	}
	if err != nil {
		return "", readableError(start, err)
	}
	return s.text(), nil
}

func (in searchFilesIn) compile() (*regexp.Regexp, error) {
	if in.Query == "" {
		return nil, fmt.Errorf("the query is empty")
	}
	if len(in.Query) > maxQuery {
		return nil, fmt.Errorf("the query has %d bytes; the limit is %d, so search for a part of it", len(in.Query), maxQuery)
	}
	query := in.Query
	if in.Literal {
		query = regexp.QuoteMeta(query)
	}
	if in.IgnoreCase {
		query = "(?i)" + query
	}
	if size, err := pattern.Size(query); err == nil && size > maxQuerySize {
		return nil, fmt.Errorf("the query repeats too much: the compiled query would have %d instructions, and the limit is %d; use smaller numbers in {}", size, maxQuerySize)
	}
	re, err := regexp.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("%w; set literal to search for plain text", err)
	}
	return re, nil
}

type search struct {
	root  root
	dir   *os.Root
	query *regexp.Regexp
	limit int // the largest number of matches

	found             strings.Builder // the text of the matches
	matches           int
	more              bool // there are more matches than limit
	binaries, skipped int  // the numbers of files that were not searched
	cut               int  // the number of lines of which only the beginning was searched
}

// A file that is binary, too large or unreadable is counted and not searched. file returns [fs.SkipAll] if there are more matches than
// the call may show.
func (s *search) file(ctx context.Context, name string) error {
	f, info, err := s.root.openFile(s.dir, name, os.O_RDONLY)
	if err != nil {
		s.skipped++
		return nil
	}
	defer f.Close()
	if info.Size() > s.root.MaxFileBytes {
		s.skipped++
		return nil
	}
	if isBinary, err := binary(f); err != nil || isBinary {
		s.binaries++
		return nil
	}
	// A file may grow while it is read.
	data, err := io.ReadAll(io.LimitReader(f, s.root.MaxFileBytes))
	if err != nil {
		s.skipped++
		return nil
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n++
		line = strings.TrimRight(line, "\r\n")
		if len(line) > maxSearchedLine {
			line = line[:maxSearchedLine]
			s.cut++
		}
		if !s.query.MatchString(line) {
			continue
		}
		if s.matches == s.limit {
			s.more = true
			return fs.SkipAll
		}
		s.matches++
		fmt.Fprintf(&s.found, "%s:%d: %s\n", name, n, clip.UTF8(line, maxMatchLine))
	}
	return nil
}

func (s *search) text() string {
	if s.matches == 0 {
		s.found.WriteString("[no matches]\n")
	}
	if s.more {
		fmt.Fprintf(&s.found, "[there are more than %d matches: narrow the query, the path or the glob]\n", s.limit)
	}
	if s.cut > 0 {
		fmt.Fprintf(&s.found, "[%d long lines were searched in their first %d bytes only]\n", s.cut, maxSearchedLine)
	}
	if s.binaries+s.skipped > 0 {
		fmt.Fprintf(&s.found, "[not searched: %d binary files, %d that are too large or cannot be read]\n", s.binaries, s.skipped)
	}
	return s.found.String()
}
