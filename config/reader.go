package config

import (
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/reagent-dev/reagent/agent"
)

// A place is one value of the document and the path that leads to it.
type place struct {
	path string
	node *yaml.Node
}

func (p place) key(k string) string {
	if p.path == "" {
		return k
	}
	return p.path + "." + k
}

// A reader turns places into Go values and collects what is wrong with them. It
// goes on after a problem, so that one reading finds them all.
type reader struct {
	source

	problems []Problem
	failed   map[string]bool // fields with a problem
}

func newReader(file string, line int) *reader {
	return &reader{source: source{file: file, lines: map[string]int{"": line}}, failed: map[string]bool{}}
}

func (r *reader) problemf(path, format string, args ...any) { r.add(r.at(path, format, args...)) }

func (r *reader) add(p Problem) {
	r.problems = append(r.problems, p)
	r.failed[p.Field] = true
}

// hasProblem reports whether the value at path was reported already. It is
// neither missing as well then, nor worth another message.
func (r *reader) hasProblem(path string) bool { return r.failed[path] }

// present reports whether a value stands at path, right or wrong.
func (r *reader) present(path string) bool {
	_, ok := r.lines[path]
	return ok
}

// keys says what reads the value of each key that a mapping may have.
type keys map[string]func(place)

// object reads a mapping with known keys. An absent value, and one that is left
// empty, is skipped: its default stays.
func (r *reader) object(p place, known keys) {
	r.entries(p, func(key string, value place) {
		read, ok := known[key]
		if !ok {
			r.problemf(value.path, "unknown key; %s", suggest(key, known))
			return
		}
		if value.node.ShortTag() != "!!null" {
			read(value)
		}
	})
}

// entries reads a mapping with free keys.
func (r *reader) entries(p place, each func(key string, value place)) {
	if p.node.Kind != yaml.MappingNode {
		if p.node.ShortTag() != "!!null" {
			r.problemf(p.path, "must be a mapping of keys to values, not %s", kindOf(p.node))
		}
		return
	}
	first := map[string]int{}
	for i := 0; i < len(p.node.Content); i += 2 {
		k, v := p.node.Content[i], p.node.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			r.add(Problem{File: r.file, Line: k.Line, Field: p.path, Message: "a key must be a text, not " + kindOf(k)})
			continue
		}
		path := p.key(k.Value)
		if line, ok := first[k.Value]; ok {
			r.add(Problem{File: r.file, Line: k.Line, Field: path, Message: fmt.Sprintf("is given twice; first on line %d", line)})
			continue
		}
		first[k.Value] = k.Line
		r.lines[path] = k.Line
		each(k.Value, place{path: path, node: v})
	}
}

// list reads a sequence.
func (r *reader) list(p place, each func(item place)) {
	if p.node.Kind != yaml.SequenceNode {
		r.problemf(p.path, "must be a list, not %s", kindOf(p.node))
		return
	}
	for i, n := range p.node.Content {
		item := place{path: fmt.Sprintf("%s[%d]", p.path, i), node: n}
		r.lines[item.path] = n.Line
		each(item)
	}
}

// text reads a string. A number or a bool is refused: where it stands for a
// text, YAML has often changed it already.
func (r *reader) text(into *string) func(place) {
	return func(p place) {
		switch tag := p.node.ShortTag(); {
		case p.node.Kind != yaml.ScalarNode || tag == "!!null":
			r.problemf(p.path, "must be a text, not %s", kindOf(p.node))
		case tag != "!!str" && tag != "!!timestamp":
			r.problemf(p.path, "must be a text, not %s; put it in quotes", kindOf(p.node))
		default:
			*into = p.node.Value
		}
	}
}

// verbatim reads any scalar as it is written: the values of environment
// variables and arguments of commands, where 8080 is as good as "8080".
func (r *reader) verbatim(p place) string {
	if p.node.Kind != yaml.ScalarNode || p.node.ShortTag() == "!!null" {
		r.problemf(p.path, "must be a text, not %s", kindOf(p.node))
		return ""
	}
	return p.node.Value
}

func (r *reader) texts(into *[]string) func(place) {
	return func(p place) {
		r.list(p, func(item place) {
			var s string
			r.text(&s)(item)
			*into = append(*into, s)
		})
	}
}

func (r *reader) boolean(into *bool) func(place) {
	return func(p place) {
		if p.node.ShortTag() != "!!bool" || p.node.Decode(into) != nil {
			r.problemf(p.path, "must be true or false, not %s", quoted(p))
		}
	}
}

// integer reads a whole number in the range.
func (r *reader) integer(into *int, low, high int) func(place) {
	return func(p place) {
		// As written and in decimal only: YAML reads 010 as eight.
		n, err := strconv.Atoi(p.node.Value)
		if p.node.ShortTag() != "!!int" || err != nil || strconv.Itoa(n) != p.node.Value {
			r.problemf(p.path, "must be a whole number, not %s", quoted(p))
			return
		}
		switch {
		case n < low && low == 1:
			r.problemf(p.path, "must be at least 1, not %d; leave it out for the default", n)
		case n < low:
			r.problemf(p.path, "must be at least %d, not %d", low, n)
		case n > high:
			r.problemf(p.path, "must be at most %d, not %d", high, n)
		default:
			*into = n
		}
	}
}

func (r *reader) float(into **float64, low, high float64) func(place) {
	return func(p place) {
		tag := p.node.ShortTag()
		f, err := strconv.ParseFloat(p.node.Value, 64)
		if tag != "!!int" && tag != "!!float" || err != nil {
			r.problemf(p.path, "must be a number, not %s", quoted(p))
			return
		}
		// Written so that NaN, which is not smaller than anything, is refused.
		if !(f >= low && f <= high) {
			r.problemf(p.path, "must be between %v and %v, not %s", low, high, p.node.Value)
			return
		}
		*into = &f
	}
}

// money reads an amount of US dollars, as an exact decimal, divided by units.
func (r *reader) money(into *agent.Money, units int64) func(place) {
	return func(p place) {
		tag := p.node.ShortTag()
		dollars, ok := new(big.Rat).SetString(p.node.Value)
		if tag != "!!int" && tag != "!!float" || !ok {
			r.problemf(p.path, "must be a number of US dollars, not %s", quoted(p))
			return
		}
		amount := dollars.Mul(dollars, big.NewRat(int64(agent.Dollar), units))
		switch {
		case amount.Sign() < 0 || amount.Cmp(big.NewRat(1_000_000*int64(agent.Dollar), 1)) > 0:
			r.problemf(p.path, "must be between 0 and a million US dollars, not %s", p.node.Value)
		case !amount.IsInt():
			r.problemf(p.path, "has too many digits after the point: %s; leave out the last ones", p.node.Value)
		default:
			*into = agent.Money(amount.Num().Int64())
		}
	}
}

func (r *reader) duration(into *time.Duration) func(place) {
	return func(p place) {
		d, err := time.ParseDuration(p.node.Value)
		switch {
		case p.node.Kind != yaml.ScalarNode || err != nil:
			r.problemf(p.path, "%s is not a duration; write 90s, 10m or 1h", quoted(p))
		case d <= 0:
			r.problemf(p.path, "must be more than 0, not %s; leave it out for the default", p.node.Value)
		default:
			*into = d
		}
	}
}

// webURL reads an http or https URL. A password in it would be a key in the
// file, and in every log that shows the URL.
func (r *reader) webURL(into *string) func(place) {
	return func(p place) {
		var s string
		before := len(r.problems)
		r.text(&s)(p)
		if len(r.problems) > before {
			return
		}
		if problem := checkWebURL(s); problem != "" {
			r.problemf(p.path, "%s", problem)
			return
		}
		*into = s
	}
}

// checkWebURL returns what is wrong with the address of an endpoint; empty where nothing is.
func checkWebURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "must be a URL such as https://example.com/v1"
	case u.User != nil:
		return "must not hold a user name or a password, since logs would show them"
	}
	return ""
}

// matching reads a text that must match the pattern. The text itself is not
// repeated where it may be a secret.
func (r *reader) matching(into *string, pattern *regexp.Regexp, message string) func(place) {
	return func(p place) {
		var s string
		before := len(r.problems)
		r.text(&s)(p)
		switch {
		case len(r.problems) > before:
		case !pattern.MatchString(s):
			r.problemf(p.path, "%s", message)
		default:
			*into = s
		}
	}
}

func quoted(p place) string {
	if p.node.Kind != yaml.ScalarNode || p.node.ShortTag() == "!!null" {
		return kindOf(p.node)
	}
	if p.node.ShortTag() == "!!str" {
		return strconv.Quote(p.node.Value)
	}
	return p.node.Value
}
