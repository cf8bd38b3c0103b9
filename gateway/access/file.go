package access

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	// DefaultRequestsPerMinute limits the requests of a caller for whom the access file has no requests_per_minute.
	DefaultRequestsPerMinute = 600
	// DefaultMaxBody limits the body of a request, in bytes, for a caller for whom the access file has no max_body.
	DefaultMaxBody = 8 << 20
)

// rules are the content of an access file.
type rules struct {
	keys map[hash]key
	oidc *oidcRule // nil if no tokens are accepted
}

func readRules(file string) (rules, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return rules{}, fmt.Errorf("the access file: %w", err)
	}
	found, err := parseRules(text)
	if err != nil {
		return rules{}, fmt.Errorf("the access file %s: %w", file, err)
	}
	return found, nil
}

// line finds the line in an error of the YAML package. The rest of the error is not told, because it may have parts of a secret.
var line = regexp.MustCompile(`line \d+`)

// parseRules reads an access file. An error names the line and the field, and has no value that may be a secret.
func parseRules(text []byte) (rules, error) {
	found := rules{keys: map[hash]key{}}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		if at := line.FindString(err.Error()); at != "" {
			return rules{}, fmt.Errorf("it is not YAML: see %s", at)
		}
		return rules{}, errors.New("it is not YAML")
	}
	if len(document.Content) == 0 {
		return rules{}, errors.New("it is empty: write `keys`, `oidc` or both")
	}
	err := mapping("the file", document.Content[0], fields{
		"keys": found.readKeys,
		"oidc": func(n *yaml.Node) (err error) {
			found.oidc, err = readOIDC(n)
			return err
		},
	})
	if err == nil && len(found.keys) == 0 && found.oidc == nil {
		err = errors.New("it lets nobody in: write `keys`, `oidc` or both")
	}
	return found, err
}

func (r rules) readKeys(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return at(n, "keys", "must be a list of keys")
	}
	names := map[string]bool{}
	for i, each := range n.Content {
		path := fmt.Sprintf("keys[%d]", i)
		k := key{limits: defaultLimits(), caller: Caller{ProvedBy: "api key"}}
		var name string
		var h hash
		err := mapping(path, each, fields{
			"name": func(n *yaml.Node) error {
				name = n.Value
				if n.Kind != yaml.ScalarNode || !keyName.MatchString(name) || isSecret(name) {
					return at(n, path+".name", "must be a name: "+keyNameHelp)
				}
				return nil
			},
			"hash": func(n *yaml.Node) (err error) {
				var ok bool
				if h, ok = parseHash(n.Value); n.Kind != yaml.ScalarNode || !ok {
					return at(n, path+".hash", "must be sha256: and 64 digits, and never the secret itself")
				}
				return nil
			},
			"expires": func(n *yaml.Node) (err error) {
				if k.expires, err = parseTime(n.Value); err != nil {
					return at(n, path+".expires", "must be a day such as 2027-01-31 or a time such as 2027-01-31T18:00:00Z")
				}
				return nil
			},
		}.with(grantFields(path, &k.caller.Grant)).with(limitFields(path, &k.limits)))
		switch {
		case err != nil:
			return err
		case name == "":
			return at(each, path+".name", "is missing")
		case names[name]:
			return at(each, path+".name", "is that of another key; a name is the owner of conversations, so it must be unique")
		case h == hash{}:
			return at(each, path+".hash", "is missing; make a key with its hash")
		}
		if err := checkGrant(each, path, k.caller.Grant); err != nil {
			return err
		}
		if other, twice := r.keys[h]; twice {
			return at(each, path+".hash", fmt.Sprintf("is that of %s, too; give each key its own secret", other.caller.Name))
		}
		names[name] = true
		k.caller.Name = "key:" + name
		r.keys[h] = k
	}
	return nil
}

func defaultLimits() limits {
	return limits{requestsPerMinute: DefaultRequestsPerMinute, maxBody: DefaultMaxBody}
}

func grantFields(path string, g *Grant) fields {
	return fields{
		"agents": func(n *yaml.Node) (err error) { g.Agents, err = texts(n, path+".agents"); return err },
		"scopes": func(n *yaml.Node) error {
			all, err := texts(n, path+".scopes")
			for _, each := range all {
				g.Scopes = append(g.Scopes, Scope(each))
			}
			return err
		},
		"all": func(n *yaml.Node) error {
			if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&g.All) != nil {
				return at(n, path+".all", "must be true or false")
			}
			return nil
		},
	}
}

func checkGrant(n *yaml.Node, path string, g Grant) error {
	if wrong, ok := errors.AsType[fieldError](g.check()); ok {
		return at(n, path+"."+wrong.field, wrong.problem)
	}
	return nil
}

func limitFields(path string, l *limits) fields {
	return fields{
		"requests_per_minute": func(n *yaml.Node) error {
			if n.Kind != yaml.ScalarNode || n.Decode(&l.requestsPerMinute) != nil || l.requestsPerMinute < 1 {
				return at(n, path+".requests_per_minute", "must be a number of at least 1")
			}
			return nil
		},
		"max_body": func(n *yaml.Node) error {
			var ok bool
			if l.maxBody, ok = parseSize(n.Value); n.Kind != yaml.ScalarNode || !ok {
				return at(n, path+".max_body", "must be a size such as 500KB or 2MB")
			}
			return nil
		},
	}
}

var sizeText = regexp.MustCompile(`^(\d{1,9})(KB|MB)?$`)

func parseSize(text string) (bytes int64, ok bool) {
	parts := sizeText.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	n <<= map[string]int{"": 0, "KB": 10, "MB": 20}[parts[2]]
	return n, err == nil && n > 0 && n < math.MaxInt32
}

func parseTime(text string) (time.Time, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	return time.Parse(time.RFC3339, text)
}

// fields are the functions that read the fields of a mapping, by name.
type fields map[string]func(*yaml.Node) error

func (f fields) with(more fields) fields {
	maps.Copy(f, more)
	return f
}

// mapping calls the function of each field. It returns an error for a field that is unknown or given twice.
func mapping(path string, n *yaml.Node, known fields) error {
	if n.Kind != yaml.MappingNode {
		return at(n, path, "must be a mapping")
	}
	given := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		read := known[name]
		if read == nil || given[name] {
			// Not every name is told: it may be a secret that stands at the wrong place.
			what := "an unknown field"
			if fieldName.MatchString(name) {
				what = "the unknown field " + name
			}
			if given[name] {
				what = "the field " + name + " twice"
			}
			return at(n.Content[i], path, "has "+what)
		}
		given[name] = true
		if err := read(n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

var fieldName = regexp.MustCompile(`^[a-z_]{1,24}$`)

func texts(n *yaml.Node, path string) (all []string, err error) {
	if n.Kind != yaml.SequenceNode {
		return nil, at(n, path, "must be a list, such as [a, b]")
	}
	for _, each := range n.Content {
		if each.Kind != yaml.ScalarNode || isSecret(strings.TrimSpace(each.Value)) {
			return nil, at(each, path, "must be a list of texts")
		}
		all = append(all, each.Value)
	}
	return all, nil
}

func at(n *yaml.Node, path, problem string) error {
	return fmt.Errorf("line %d: %s %s", n.Line, path, problem)
}
