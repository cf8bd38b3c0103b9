package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxNodes is the largest number of nodes in a document after aliases are replaced. Without this limit, a small file with
	// nested aliases could become very large.
	maxNodes = 100_000
	// maxDepth is the deepest nesting of nodes in a document after aliases are replaced. Without this limit, an alias inside
	// its own anchor would be replaced without end.
	maxDepth = 100
)

// document parses a YAML file and replaces aliases and merge keys by their values.
func document(file string, data []byte) (*yaml.Node, *Problem) {
	if len(data) > MaxFileSize {
		return nil, &Problem{File: file, Message: "the file is larger than 1 MiB, the limit for a configuration"}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := dec.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, &Problem{File: file, Line: 1, Message: "the file is empty; it needs at least models and agents"}
	case err != nil:
		return nil, syntaxProblem(file, data, err)
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxProblem(file, data, err)
	default:
		return nil, &Problem{File: file, Line: second.Line, Message: "a second YAML document begins here; write one document to a file"}
	}
	e := expander{file: file}
	return e.expand(first.Content[0], 0)
}

var (
	yamlLine      = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxProblem converts an error of the YAML library into a [Problem]. It moves the line number from the error text into
// [Problem.Line]. The error about an unknown anchor has no line number. For that error, syntaxProblem searches `data` for the
// reference to the anchor.
func syntaxProblem(file string, data []byte, err error) *Problem {
	text := err.Error()
	m := yamlLine.FindStringSubmatch(text)
	text = strings.TrimPrefix(text, m[0])
	line, _ := strconv.Atoi(m[1]) // 0 if the error has no line
	if anchor := unknownAnchor.FindStringSubmatch(text); anchor != nil {
		if before, _, ok := bytes.Cut(data, []byte("*"+anchor[1])); ok {
			line = bytes.Count(before, []byte("\n")) + 1
		}
	}
	lines := bytes.Split(data, []byte("\n"))
	if line > 0 && line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t")) {
		text = "the line is indented with a tab; use spaces"
	}
	return &Problem{File: file, Line: line, Message: "not YAML: " + text}
}

// expander copies a tree of YAML nodes, with each alias replaced by its value, and each merge key (<<) by the merged entries.
type expander struct {
	file  string
	nodes int // number of nodes copied so far
}

func (e *expander) expand(n *yaml.Node, depth int) (*yaml.Node, *Problem) {
	if e.nodes++; e.nodes > maxNodes || depth > maxDepth {
		return nil, &Problem{File: e.file, Line: n.Line, Message: "the file has too many values, or too many levels, when aliases are replaced; check that no alias is inside its own anchor"}
	}
	if n.Kind == yaml.AliasNode {
		return e.expand(n.Alias, depth+1)
	}
	out := *n
	out.Content = make([]*yaml.Node, 0, len(n.Content))
	var merges []*yaml.Node
	for i, child := range n.Content {
		key := n.Kind == yaml.MappingNode && i%2 == 0
		if key && child.ShortTag() == "!!merge" {
			merges = append(merges, n.Content[i+1])
			continue
		}
		if !key && n.Kind == yaml.MappingNode && n.Content[i-1].ShortTag() == "!!merge" {
			continue
		}
		c, p := e.expand(child, depth+1)
		if p != nil {
			return nil, p
		}
		out.Content = append(out.Content, c)
	}
	for _, m := range merges {
		if p := e.merge(&out, m, depth); p != nil {
			return nil, p
		}
	}
	return &out, nil
}

// merge adds the entries of `source`, a mapping or a list of mappings, to `target`. An entry that `target` already has stays.
func (e *expander) merge(target, source *yaml.Node, depth int) *Problem {
	source, p := e.expand(source, depth+1)
	if p != nil {
		return p
	}
	sources := []*yaml.Node{source}
	if source.Kind == yaml.SequenceNode {
		sources = source.Content
	}
	have := map[string]bool{}
	for i := 0; i < len(target.Content); i += 2 {
		have[target.Content[i].Value] = true
	}
	for _, s := range sources {
		if s.Kind != yaml.MappingNode {
			return &Problem{File: e.file, Line: s.Line, Message: fmt.Sprintf("the value of << must be a mapping or a list of mappings, not %s", kindOf(s))}
		}
		for i := 0; i < len(s.Content); i += 2 {
			if k := s.Content[i]; !have[k.Value] {
				have[k.Value] = true
				target.Content = append(target.Content, k, s.Content[i+1])
			}
		}
	}
	return nil
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!str":
		return "a text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return n.Value
	}
	return "a " + n.ShortTag()
}
