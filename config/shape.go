package config

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON schema of the configuration file, in draft 2020-12, with which editors complete and check the file. The reader
// draws it: see [place]. The schema refuses no file that [Parse] accepts, with one exception: it refuses a field without a value. It accepts
// many files that [Parse] refuses, such as one with a name of a model that does not exist.
func Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{
		Schema:      "https://json-schema.org/draft/2020-12/schema",
		Title:       "agents.yaml",
		Description: "The models, the MCP servers and the agents that a worker of Reagent serves.",
	}
	r := &reader{failed: map[string]bool{}}
	r.config(place{shape: s})
	return s
}

// requires says that a mapping needs these keys. It only draws: [reader.check] reports what is missing.
func (p place) requires(keys ...string) {
	if p.shape != nil {
		p.shape.Required = keys
	}
}

// requiresOne says that a mapping needs exactly one of these keys. It only draws, as [place.requires] does.
func (p place) requiresOne(keys ...string) {
	if p.shape == nil {
		return
	}
	for _, key := range keys {
		p.shape.OneOf = append(p.shape.OneOf, &jsonschema.Schema{Required: []string{key}})
	}
}

// nothing is the schema that no value matches.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// byDefault draws the default of a field. A zero value is no default: it means that the field is not set.
func byDefault[T comparable](s *jsonschema.Schema, value T) {
	var zero T
	if value == zero {
		return
	}
	var shown any = value
	if d, ok := shown.(time.Duration); ok {
		shown = durationText(d)
	}
	s.Default, _ = json.Marshal(shown) // of a text, a number or a boolean
}

// durationText writes 10m in place of 10m0s, as people do.
func durationText(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if cut, ok := strings.CutSuffix(text, zero); ok && strings.ContainsAny(cut[max(0, len(cut)-1):], "hm") {
			text = cut
		}
	}
	return text
}

// between draws the bounds of a whole number. A bound that is the end of the type int is none.
func between(s *jsonschema.Schema, low, high int) {
	if low != math.MinInt {
		s.Minimum = new(float64(low))
	}
	if high != math.MaxInt {
		s.Maximum = new(float64(high))
	}
}

// enum draws the values that a field may have.
func enum[T any](s *jsonschema.Schema, values []T) {
	for _, value := range values {
		s.Enum = append(s.Enum, value)
	}
}

// durationPattern matches what [time.ParseDuration] accepts, without a minus sign.
var durationPattern = fmt.Sprintf(`^\+?(%[1]s)+$`, `([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`)

// webURLPattern matches each text that begins as the URL of an endpoint must.
const webURLPattern = `^[Hh][Tt][Tt][Pp][Ss]?://.`
