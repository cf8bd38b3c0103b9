package standin

import (
	"cmp"
	"fmt"
	"slices"
)

// GLM returns a [Provider] that behaves like GLM 4.7 of Z.ai (Zhipu), whose thinking is on.
//   - Each reply has a reasoning in `reasoning_content`.
//   - After the last user message, each assistant message with calls should have its reasoning, unchanged. A reasoning that is missing or
//     changed is a violation.
//   - A body with "thinking":{"type":"disabled"} turns the thinking off.
//
// The reference of the API lists only the output format json_object and only the tool choice "auto". It does not say what becomes of others,
// so this Provider accepts them.
//
// Sources: Z.ai's pages "Thinking Mode" and "Chat Completion", and fuzhengwei/chatglm-sdk-java#8 for the body of an error.
func GLM() *Provider {
	return &Provider{rules: []rule{glmThought}, dress: thoughtful, problem: glmProblem}
}

func glmThought(p *Provider, r *posted) *refusal {
	if !r.thinks() {
		return nil
	}
	for i := r.turn(); i < len(r.Messages); i++ {
		m := r.Messages[i]
		sent := p.memory(key(m.message()))
		if thought, _ := r.text(i, "reasoning_content"); len(m.ToolCalls) > 0 && sent != nil && !slices.Contains(sent, thought) {
			p.violation(fmt.Sprintf("messages[%d]: the reasoning_content is not the one that was sent", i))
		}
	}
	return nil
}

func glmProblem(r *refusal) any {
	return map[string]any{"error": map[string]any{"code": cmp.Or(r.code, "1210"), "message": r.message}}
}
