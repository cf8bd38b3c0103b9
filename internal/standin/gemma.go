package standin

import (
	"encoding/json"
)

// Gemma returns a [Provider] that behaves like an early vLLM with a model whose chat template knows few roles, such as Gemma 2. It
// refuses the roles system and developer, and the members `stream_options` and `parallel_tool_calls` of the body. Unlike Gemma's
// own template, it accepts tool messages.
//
// Sources: vllm-project/vllm#2964 and SaFo-Lab/AutoDAN-Turbo#20 for the roles, modelscope/ms-agent#489 for `stream_options`. The
// wording for `parallel_tool_calls` has the same form.
func Gemma() *Provider {
	return &Provider{rules: []rule{gemmaKnows, gemmaRoles}, problem: vllmProblem}
}

func gemmaKnows(_ *Provider, r *posted) *refusal {
	for _, name := range []string{"stream_options", "parallel_tool_calls"} {
		if value := r.fields[name]; value != nil {
			return invalid("", "[{'type': 'extra_forbidden', 'loc': ('body', '%s'), 'msg': 'Extra inputs are not permitted', 'input': %s}]", name, python(value))
		}
	}
	return nil
}

// python returns a JSON value roughly as Python prints it.
func python(value json.RawMessage) string {
	switch string(value) {
	case "true":
		return "True"
	case "false":
		return "False"
	}
	return string(value)
}

func gemmaRoles(_ *Provider, r *posted) *refusal {
	for _, m := range r.Messages {
		switch m.Role {
		case "system":
			return invalid("", "System role not supported")
		case "developer":
			return invalid("", "Conversation roles must alternate user/assistant/user/assistant/...")
		}
	}
	return nil
}

func vllmProblem(r *refusal) any {
	kind := r.kind
	if kind == "" {
		kind = "BadRequestError"
	}
	return map[string]any{"object": "error", "message": r.message, "type": kind, "param": nil, "code": r.status}
}
