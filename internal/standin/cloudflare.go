package standin

import (
	"fmt"
	"strings"
)

// cloudflareBadInput is the number of the error for a body that does not match the schema of a model.
const cloudflareBadInput = 5006

// Cloudflare returns a [Provider] that behaves like Cloudflare Workers AI. It refuses messages whose content is missing or null.
// An assistant message with calls and without text needs the content "". Some models also refuse a content that is a list; this
// Provider accepts it.
//
// Sources: cloudflare/cloudflare-os#54 and we-promise/sure#467 for the rule, anomalyco/opencode#30381 for the body and for the
// wording. That issue quotes the wording for lists; the wording for null has the same form.
func Cloudflare() *Provider {
	return &Provider{rules: []rule{cloudflareContent}, problem: cloudflareProblem}
}

// cloudflareContent returns an error response if the content of a message is missing or null.
func cloudflareContent(_ *Provider, r *posted) *refusal {
	var faults []string
	for i, m := range r.each {
		switch content := string(m["content"]); content {
		case "":
			faults = append(faults, fmt.Sprintf("required properties at '/messages/%d' are 'role,content'", i))
		case "null":
			faults = append(faults, fmt.Sprintf("Type mismatch of '/messages/%d/content', 'null' not in 'string'", i))
		}
	}
	if faults == nil {
		return nil
	}
	return coded(invalid("", "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', %s (d9e09afe-fe49-4051-bc1d-8901f858ff52)",
		strings.Join(faults, ", ")), fmt.Sprint(cloudflareBadInput))
}

func cloudflareProblem(r *refusal) any {
	number := r.status
	if r.code == fmt.Sprint(cloudflareBadInput) {
		number = cloudflareBadInput
	}
	return map[string]any{
		"errors":  map[string]any{"message": r.message, "code": number},
		"success": false, "result": map[string]any{}, "messages": []any{},
	}
}
