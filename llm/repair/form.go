package repair

import (
	"regexp"
	"strings"
)

// spokenCall is a tool call as a model wrote it in its text. It has either arguments or parameters.
type spokenCall struct {
	name       string
	arguments  string
	parameters []parameter
}

// form reads one piece of a model's markup at the position of a cursor. It returns the calls in the piece, and true. If the text does not
// begin with a complete piece of this form, it returns false, and may have moved the cursor.
type form func(c *cursor) ([]spokenCall, bool)

// forms has the functions that read calls in the markup of models. For each piece of a text, the first function that can read it is
// used.
var forms = []form{harmonyCall, deepSeekCall, kimiCall, glmCall, mistralCall, functionCall, invokeCall, listedCalls}

// beginTokens and endTokens are tokens before and after calls. [readCalls] skips them, because the forms are complete without them. A
// server may have removed one token of a pair.
var (
	beginTokens = []string{
		"<tool_call>",      // Hermes, Qwen, GLM
		"<tool_calls>",     // Jamba, Hunyuan
		"<function_calls>", // Claude and models that learned from it
		"<antml:function_calls>",
		"<｜DSML｜tool_calls>",           // DeepSeek V4
		"<｜DSML｜function_calls>",       // DeepSeek V3.2
		"<｜tool▁calls▁begin｜>",         // DeepSeek V3, V3.1
		"<minimax:tool_call>",          // MiniMax M2
		"<seed:tool_call>",             // Seed-OSS
		"<longcat_tool_call>",          // LongCat
		"<|tool_calls_section_begin|>", // Kimi K2
		"<|tool_call|>",                // Phi-4, Granite
		"<TOOLCALL>",                   // Nemotron
		"<|START_ACTION|>",             // Command R
		"<|python_tag|>",               // Llama 3
		"[TOOL_CALLS]",                 // Mistral
	}
	endTokens = []string{
		"</tool_call>", "</tool_calls>", "</function_calls>", "</antml:function_calls>", "</｜DSML｜tool_calls>", "</｜DSML｜function_calls>",
		"<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>", "</minimax:tool_call>", "</seed:tool_call>", "</longcat_tool_call>",
		"<|tool_calls_section_end|>", "<|/tool_call|>", "<|end|>", "</TOOLCALL>", "<|END_ACTION|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "</s>",
	}
)

// opening matches a text that begins with the markup of a call, and anyOpening matches a text that contains such a beginning.
var opening, anyOpening = regexp.MustCompile(`^(?:` + markupBegin + `)`), regexp.MustCompile(markupBegin)

const markupBegin = `<(?:(?:antml:|minimax:|seed:|longcat_)?(?:tool_calls?|function_calls|TOOLCALL)>|function=|(?:antml:)?invoke name=)` +
	`|<｜DSML｜(?:tool_calls|function_calls|invoke)|<｜tool▁calls?▁begin｜>|<\|tool_calls?(?:_section)?(?:_begin)?\|>` +
	`|<\|START_ACTION\|>|<\|python_tag\|>|\[TOOL_CALLS\]|(?:<\|start\|>assistant[^<>|]{0,100})?<\|channel\|>`

var (
	functionTag  = regexp.MustCompile(`^<function=([A-Za-z0-9_.:-]{1,200})[=>(]*`)
	functionEnd  = regexp.MustCompile(`^\)?>?\s*</function>`)
	parameterTag = regexp.MustCompile(`^<parameter=([^<>\s]{1,200})>`)
	invokeTag    = regexp.MustCompile(`^<(｜DSML｜|antml:|minimax:)?invoke name="([^"<>]{1,200})"\s*>`)
	namedTag     = regexp.MustCompile(`^<(?:｜DSML｜|antml:|minimax:)?parameter name="([^"<>]{1,200})"(?: string="(true|false)")?\s*>`)
	glmName      = regexp.MustCompile(`^<tool_call>\s*([A-Za-z0-9_.:-]{1,200})\s*`)
	mistralName  = regexp.MustCompile(`^(?:\[TOOL_CALLS\]\s*)?([A-Za-z0-9_.:-]{1,200})(?:\[CALL_ID\][A-Za-z0-9_-]{0,100})?\[ARGS\]`)
	mistralPlain = regexp.MustCompile(`^\[TOOL_CALLS\]\s*([A-Za-z0-9_.:-]{1,200})\s*`)
	deepSeekName = regexp.MustCompile(`^<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>([A-Za-z0-9_.:-]{1,200})\s|([A-Za-z0-9_.:-]{1,200})<｜tool▁sep｜>)`)
	kimiName     = regexp.MustCompile(`^<\|tool_call_begin\|>\s*([A-Za-z0-9_.:-]{1,200})\s*<\|tool_call_argument_begin\|>`)
)

// one returns the results of a [form] that has read one call with the given name and arguments.
func one(name, arguments string, ok bool) ([]spokenCall, bool) {
	return []spokenCall{{name: name, arguments: arguments}}, ok
}

// harmonyCall reads a call of gpt-oss: <|channel|>commentary to=functions.NAME<|message|>ARGUMENTS<|call|>.
func harmonyCall(c *cursor) ([]spokenCall, bool) {
	found, ok := c.match(harmonyHeader)
	if !ok {
		return nil, false
	}
	_, recipient := address(found[1], found[2])
	if object, ok := c.object(); ok && recipient != "" {
		c.token("<|call|>", "<|end|>", "<|return|>") // a server may have removed the token
		return one(recipient, object, true)
	}
	arguments, ok := c.until("<|call|>")
	return one(recipient, arguments, ok && recipient != "")
}

// argumentsCall returns a form that reads a call whose name is in the groups of the expression `begin`, and whose arguments stand before
// the token `end`.
func argumentsCall(begin *regexp.Regexp, end string) form {
	return func(c *cursor) ([]spokenCall, bool) {
		found, ok := c.match(begin)
		if !ok {
			return nil, false
		}
		arguments, ok := c.arguments(end)
		return one(strings.Join(found[1:], ""), arguments, ok)
	}
}

var (
	// deepSeekCall reads a call of DeepSeek V3.1, <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>ARGUMENTS<｜tool▁call▁end｜>, or of V3, which has
	// function<｜tool▁sep｜> before the name. V3 puts the arguments in a code fence, which the function arguments removes later.
	deepSeekCall = argumentsCall(deepSeekName, "<｜tool▁call▁end｜>")
	// kimiCall reads a call of Kimi K2: <|tool_call_begin|>NAME<|tool_call_argument_begin|>ARGUMENTS<|tool_call_end|>.
	kimiCall = argumentsCall(kimiName, "<|tool_call_end|>")
)

// tagged reads the parameters of a call, and the token `end` after them. The expression `begin` matches the tag before a parameter: its
// groups are the name and, if there is another one, [parameter.declared]. `after` is the tag after a parameter. tagged returns the call.
func (c *cursor) tagged(name string, begin *regexp.Regexp, after, end string) ([]spokenCall, bool) {
	call := spokenCall{name: name}
	for !c.token(end) {
		tag, ok := c.match(begin)
		if !ok {
			return nil, false
		}
		value, ok := c.until(after)
		if !ok {
			return nil, false
		}
		call.parameters = append(call.parameters, parameter{name: tag[1], value: value, declared: strings.Join(tag[2:], "")})
	}
	return []spokenCall{call}, true
}

// glmCall reads a call of GLM: <tool_call>NAME, pairs of arg_key and arg_value, </tool_call>.
func glmCall(c *cursor) ([]spokenCall, bool) {
	found, ok := c.match(glmName)
	if !ok {
		return nil, false
	}
	call := spokenCall{name: found[1]}
	for !c.token("</tool_call>") {
		if !c.token("<arg_key>") {
			return nil, false
		}
		key, ok := c.until("</arg_key>")
		if !ok || !c.token("<arg_value>") {
			return nil, false
		}
		value, ok := c.until("</arg_value>")
		if !ok {
			return nil, false
		}
		call.parameters = append(call.parameters, parameter{name: strings.TrimSpace(key), value: value})
	}
	return []spokenCall{call}, true
}

// mistralCall reads a call of Mistral: [TOOL_CALLS]NAME[ARGS]ARGUMENTS or [TOOL_CALLS]NAME ARGUMENTS.
func mistralCall(c *cursor) ([]spokenCall, bool) {
	found, ok := c.match(mistralName)
	if !ok {
		found, ok = c.match(mistralPlain)
	}
	if !ok {
		return nil, false
	}
	object, ok := c.object()
	return one(found[1], object, ok)
}

// functionCall reads <function=NAME> with parameter tags, as Qwen3-Coder writes it, or with a JSON object, as Llama does.
func functionCall(c *cursor) ([]spokenCall, bool) {
	found, ok := c.match(functionTag)
	if !ok {
		return nil, false
	}
	if object, ok := c.object(); ok {
		_, ok = c.match(functionEnd)
		return one(found[1], object, ok)
	}
	calls, ok := c.tagged(found[1], parameterTag, "</parameter>", "</function>")
	for _, call := range calls {
		for i, p := range call.parameters {
			if inner, found := strings.CutPrefix(p.value, "\n"); found { // the template puts the value on lines of its own
				call.parameters[i].value = strings.TrimSuffix(inner, "\n")
			}
		}
	}
	return calls, ok
}

// invokeCall reads an invoke tag with parameter tags, as Claude, DeepSeek V3.2 and MiniMax write it.
func invokeCall(c *cursor) ([]spokenCall, bool) {
	found, ok := c.match(invokeTag)
	if !ok {
		return nil, false
	}
	return c.tagged(found[2], namedTag, "</"+found[1]+"parameter>", "</"+found[1]+"invoke>")
}

// listedCalls reads a JSON object with a call, or a list of such objects.
func listedCalls(c *cursor) ([]spokenCall, bool) {
	c.token("functools") // Phi-4-mini
	text, ok := c.value()
	if !ok {
		return nil, false
	}
	calls, ok := written([]byte(text), 0)
	c.token(";") // Llama writes it between calls
	return calls, ok && len(calls) > 0
}
