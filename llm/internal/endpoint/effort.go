package endpoint

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

var (
	// listsValues matches the part of an error message that lists the values of a field. The messages are those of OpenAI ("Supported
	// values are: 'low', 'medium', and 'high'."), Groq and others ("must be one of `none` or `default`"), servers in Python ("Input should
	// be 'low' or 'high'"), servers in Rust ("expected one of `high`, `low`") and Anthropic ("valid levels: low, medium").
	listsValues = regexp.MustCompile(`(?i)\b(?:(?:supported|valid|allowed|accepted|possible) (?:values?|levels?|options?)(?: are)?|(?:must|should) be(?: one of)?|` +
		`expected(?: one of)?|one of)[: ]+\(?(` + quotedValue + `(?:(?: ?[,/|] ?(?:(?:and|or) )?| (?:and|or) )` + quotedValue + `)*)`)
	oneValue = regexp.MustCompile(`[a-z][a-z_-]{1,19}`)
)

// quotedValue matches one value in such a list.
const quotedValue = "[\"'`]?[a-z][a-z_-]{1,19}[\"'`]?"

// maxSearched is the length of the part of an error message in which the client looks for values, in bytes.
const maxSearched = 4096

// efforts are the reasoning efforts that providers document.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "default"}

// Efforts returns the reasoning efforts that an error message lists as the ones that the endpoint accepts. It returns nil if the message has
// no such list. Words that no provider documents are left out, so the result is short, whatever the endpoint sends.
func Efforts(message string) []string {
	for _, found := range listsValues.FindAllStringSubmatch(clip.Text(message, maxSearched), 10) {
		var all []string
		for _, word := range oneValue.FindAllString(strings.ToLower(found[1]), 40) {
			if slices.Contains(efforts, word) && !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

// aboutEffort matches the messages that refuse a reasoning effort. Anthropic and Gemini call it a level, Ollama a think value.
var aboutEffort = regexp.MustCompile(`(?i)effort\b|\blevel\b.{0,40}\bnot supported|\bthink value\b|\bbudget 0 is invalid`)

// AdviseEffort begins the message of an error with what to do, if an endpoint has refused the effort of a request: it names the field, and
// the values that the endpoint accepts if the endpoint says so. It changes no other error.
func AdviseEffort(err error, effort string) {
	var told *llm.Error
	if effort == "" || !errors.As(err, &told) || told.Class != llm.InvalidRequest || !aboutEffort.MatchString(told.Message) {
		return
	}
	fix := "remove it, or set it to a value that the model accepts"
	if accepted := Efforts(told.Message); len(accepted) > 0 {
		fix = "set it to " + strings.Join(accepted, ", ") + ", or remove it"
	}
	told.Message = fmt.Sprintf("reasoning_effort: %s was refused; %s: %s", effort, fix, told.Message)
}
