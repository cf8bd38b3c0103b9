package standin

// Groq returns a [Provider] that behaves like Groq: it takes no `response_format` beside tools. Source: Groq's page "Structured Outputs".
func Groq() *Provider { return &Provider{rules: []rule{groqFormat}} }

func groqFormat(_ *Provider, r *posted) *refusal {
	if r.outputFormat() == "" || len(r.Tools) == 0 {
		return nil
	}
	return invalid("", "json mode cannot be combined with tool/function calling")
}

// Cerebras returns a [Provider] that behaves like Cerebras: it takes no `response_format` beside tools. Source: its page "Structured Outputs".
func Cerebras() *Provider { return &Provider{rules: []rule{cerebrasFormat}} }

func cerebrasFormat(_ *Provider, r *posted) *refusal {
	if r.outputFormat() == "" || len(r.Tools) == 0 {
		return nil
	}
	refused := invalid("", `"tools" is incompatible with "response_format"`)
	refused.code = "wrong_api_format"
	return refused
}
