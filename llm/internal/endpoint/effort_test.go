package endpoint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// The error for a refused effort names the field, the fix and the efforts that the endpoint accepts, in the words of all providers.
func TestRefusedEffortNamesWhatTheEndpointAccepts(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'. (reasoning.effort)": "none, low, medium, high",
		"Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.":          "minimal, low, medium, high",
		"`reasoning_effort` must be one of `none` or `default`":                                                                   "none, default",
		"body.reasoning_effort: Input should be 'low', 'medium' or 'high'":                                                        "low, medium, high",
		"reasoning_effort: unknown variant `minimal`, expected one of `high`, `low`, `medium`, `max`, `xhigh` at line 1 column 9": "high, low, medium, max, xhigh",
		`level "minimal" not supported, valid levels: low, medium, high`:                                                          "low, medium, high",
		`reasoning.effort: Invalid option: expected one of "xhigh"|"high"|"low"|"none"`:                                           "xhigh, high, low, none",
		`invalid think value: "minimal" (must be "high", "medium", "low", true, or false)`:                                        "high, medium, low",
		"Model grok-4 does not support parameter reasoningEffort.":                                                                "",
		"reasoning_effort: Input should be a valid string":                                                                        "",
		"reasoning_effort must be " + strings.Repeat("low, ", 10_000):                                                             "low",
	} {
		err := &llm.Error{Class: llm.InvalidRequest, Message: message}
		AdviseEffort(err, "minimal")
		fix := "reasoning_effort: minimal was refused; remove it, or set it to a value that the model accepts: "
		if want != "" {
			fix = "reasoning_effort: minimal was refused; set it to " + want + ", or remove it: "
		}
		require.Equal(t, fix+message, err.Message)
	}
	for _, told := range []llm.Error{{Class: llm.InvalidRequest, Message: "no such tool"}, {Class: llm.RateLimited, Message: "effort"}} {
		same := told
		AdviseEffort(&told, "low")
		require.Equal(t, same, told)
	}
}
