package standin

// Groq returns a [Provider] that behaves like Groq: it takes no `response_format` beside tools. Source: Groq's page "Structured Outputs".
func Groq() *Provider { return &Provider{rules: []rule{groqFormat}} }

func groqFormat(_ *Provider, r *posted) *refusal {
	if r.outputFormat() == "" || len(r.Tools) == 0 {
		return nil
	}
	return invalid("", "json mode cannot be combined with tool/function calling")
}
