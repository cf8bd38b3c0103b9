package config

import (
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/reagent-dev/reagent/agent"
)

// text returns a function that reads a text and stores it in `*into`. Any other value is a problem, also a number or a boolean: the user
// has to put it in quotes. Without quotes, YAML may change the value; for example, YAML reads 010 as 8.
func (r *reader) text(into *string) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Type = "string"
			byDefault(p.shape, *into)
			return
		}
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

// verbatim returns a function that stores a text, number or boolean exactly as it is written in the file. It is for values of environment
// variables and for arguments of commands. There, 8080 and "8080" mean the same.
func (r *reader) verbatim(into *string) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Types = []string{"string", "number", "boolean"}
			return
		}
		if p.node.Kind != yaml.ScalarNode || p.node.ShortTag() == "!!null" {
			r.problemf(p.path, "must be a text, not %s", kindOf(p.node))
			return
		}
		*into = p.node.Value
	}
}

func (r *reader) boolean(into *bool) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Type = "boolean"
			byDefault(p.shape, *into)
			return
		}
		if p.node.ShortTag() != "!!bool" || p.node.Decode(into) != nil {
			r.problemf(p.path, "must be true or false, not %s", quoted(p))
		}
	}
}

// negated is for a field that is true by default, and whose Go field says the opposite.
func (r *reader) negated(into *bool) func(place) {
	return func(p place) {
		on := true
		r.boolean(&on)(p)
		*into = !on
	}
}

func (r *reader) integer(into *int, low, high int) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Type = "integer"
			between(p.shape, low, high)
			byDefault(p.shape, *into)
			return
		}
		// Only plain decimal numbers are accepted, because YAML reads 010 as eight.
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
		if p.shape != nil {
			p.shape.Type, p.shape.Minimum, p.shape.Maximum = "number", &low, &high
			return
		}
		tag := p.node.ShortTag()
		f, err := strconv.ParseFloat(p.node.Value, 64)
		if tag != "!!int" && tag != "!!float" || err != nil {
			r.problemf(p.path, "must be a number, not %s", quoted(p))
			return
		}
		// The condition is not written as f < low || f > high, because NaN has to be refused, too. Every comparison with NaN
		// is false.
		if !(f >= low && f <= high) {
			r.problemf(p.path, "must be between %v and %v, not %s", low, high, p.node.Value)
			return
		}
		*into = &f
	}
}

// maxDollars is the largest amount of money in a configuration.
const maxDollars = 1_000_000

// money returns a function that reads an amount of US dollars, divides the amount by `units`, and stores the result in
// `*into`. For a price per million tokens, `units` is 1,000,000, and the result is the price of one token. The result is
// exact, because the function does not use float64.
func (r *reader) money(into *agent.Money, units int64) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Type, p.shape.Minimum, p.shape.Maximum = "number", new(0.0), new(float64(maxDollars))
			return
		}
		tag := p.node.ShortTag()
		dollars, ok := new(big.Rat).SetString(p.node.Value)
		if tag != "!!int" && tag != "!!float" || !ok {
			r.problemf(p.path, "must be a number of US dollars, not %s", quoted(p))
			return
		}
		tooMuch := dollars.Sign() < 0 || dollars.Cmp(big.NewRat(maxDollars, 1)) > 0
		amount := dollars.Mul(dollars, big.NewRat(int64(agent.Dollar), units))
		switch {
		case tooMuch:
			r.problemf(p.path, "must be between 0 and a million US dollars, not %s", p.node.Value)
		case !amount.IsInt():
			r.problemf(p.path, "has too many digits after the decimal point: %s; round it", p.node.Value)
		default:
			*into = agent.Money(amount.Num().Int64())
		}
	}
}

var (
	// days matches a duration with days, which [time.ParseDuration] does not know.
	days = regexp.MustCompile(`^[0-9.]+d`)
	// wellFormedDuration matches durations that [time.ParseDuration] refuses only if they are too long.
	wellFormedDuration = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ns|us|ms|h|m|s))+$`)
)

func (r *reader) duration(into *time.Duration) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Type, p.shape.Pattern = "string", durationPattern
			byDefault(p.shape, *into)
			return
		}
		d, err := time.ParseDuration(p.node.Value)
		switch {
		case p.node.Kind == yaml.ScalarNode && days.MatchString(p.node.Value):
			r.problemf(p.path, "%s: there is no unit for days; write 24h for one day", quoted(p))
		case p.node.Kind == yaml.ScalarNode && err != nil && wellFormedDuration.MatchString(p.node.Value):
			r.problemf(p.path, "%s is too long; write at most 290 years, which is 2540400h", quoted(p))
		case p.node.Kind != yaml.ScalarNode || err != nil:
			r.problemf(p.path, "%s is not a duration; write 90s, 10m or 1h", quoted(p))
		case d <= 0:
			r.problemf(p.path, "must be more than 0, not %s; leave it out for the default", p.node.Value)
		case d < time.Millisecond:
			r.problemf(p.path, "must be at least 1ms, not %s", p.node.Value)
		default:
			*into = d
		}
	}
}

// checked returns a function that reads a text and stores it in `*into`. The function `check` returns what is wrong with the text; "" if
// it is valid.
func (r *reader) checked(into *string, check func(text string) (problem string)) func(place) {
	return func(p place) {
		if p.shape != nil {
			r.text(into)(p)
			return
		}
		var s string
		before := len(r.problems)
		if r.text(&s)(p); len(r.problems) > before {
			return
		}
		if problem := check(s); problem != "" {
			r.problemf(p.path, "%s", problem)
			return
		}
		*into = s
	}
}

// checkWebURL returns what is wrong with the URL of an endpoint; "" if the URL is valid. A user name or a password in the URL is a problem,
// because logs that show the URL would show them.
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

// matching returns a function that reads a text and stores it in `*into`. The text must match `pattern`. If it does not
// match, the error text is `message`. The error text never quotes the text in the file, which may be a secret.
func (r *reader) matching(into *string, pattern *regexp.Regexp, message string) func(place) {
	return drawnAs(pattern.String(), r.checked(into, func(s string) string {
		if pattern.MatchString(s) {
			return ""
		}
		return message
	}))
}

// webURL returns a function that reads the URL of an endpoint and stores it in `*into`.
func (r *reader) webURL(into *string) func(place) {
	return drawnAs(webURLPattern, r.checked(into, checkWebURL))
}

// drawnAs returns a function that reads as `read` does, and draws a pattern that all texts match which `read` accepts.
func drawnAs(pattern string, read func(place)) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Pattern = pattern
		}
		read(p)
	}
}

// oneOf is like matching, for a text that must be one of the given values. `format` is the error text, with %q for the text in the file.
func (r *reader) oneOf(into *string, format string, values ...string) func(place) {
	read := r.checked(into, func(s string) string {
		if slices.Contains(values, s) {
			return ""
		}
		return fmt.Sprintf(format, s)
	})
	return func(p place) {
		if p.shape != nil {
			enum(p.shape, values)
		}
		read(p)
	}
}

// filePath returns a function that reads the path of a file or folder. A relative path is relative to the folder of the configuration file.
func (r *reader) filePath(into *string) func(place) {
	return func(p place) {
		if r.text(into)(p); *into != "" {
			*into = beside(r.file, *into)
		}
	}
}

// quoted describes a value for an error text. A text gets quotes. A number or boolean stays as it is written. For a mapping,
// a list or null, quoted returns only the kind, for example "a list".
func quoted(p place) string {
	if p.node.Kind != yaml.ScalarNode || p.node.ShortTag() == "!!null" {
		return kindOf(p.node)
	}
	if p.node.ShortTag() == "!!str" {
		return strconv.Quote(p.node.Value)
	}
	return p.node.Value
}
