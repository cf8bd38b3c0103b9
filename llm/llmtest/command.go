package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// maxWait is the longest time of the command `wait`.
const maxWait = time.Minute

// commands has the commands of a script. Each adds its argument to the reply.
var commands = map[string]func(*scene, string) error{
	"say": (*scene).say, "call": (*scene).call, "stream": (*scene).stream, "fail": (*scene).fail, "wait": (*scene).wait, "usage": (*scene).usage,
}

func (s *scene) say(argument string) error {
	if s.streamed() {
		return errMixed
	}
	text, err := unquoted(argument)
	if err != nil {
		return err
	}
	if s.said {
		text = "\n" + text
	}
	s.said = true
	s.reply.Message.Content += text
	return nil
}

func (s *scene) stream(argument string) error {
	if s.said {
		return errMixed
	}
	text, err := unquoted(argument)
	if err != nil {
		return err
	}
	if text == "" {
		return errors.New("`stream` needs a text, such as `stream \"It is \"`")
	}
	s.reply.Message.Content += text
	s.beats = append(s.beats, beat{piece: text})
	return nil
}

func (s *scene) call(argument string) error {
	name, arguments, _ := strings.Cut(strings.TrimSpace(argument), " ")
	if name == "" {
		return errors.New("`call` needs the name of a tool, such as `call price {\"name\":\"cherry\"}`")
	}
	arguments = strings.TrimSpace(arguments)
	if arguments == "" {
		arguments = "{}"
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		return fmt.Errorf("the arguments of %s are not a JSON object: write them as in `call price {\"name\":\"cherry\"}`", name)
	}
	s.reply.Message.ToolCalls = append(s.reply.Message.ToolCalls, ToolCall("", name, arguments))
	return nil
}

func (s *scene) fail(argument string) error {
	name, message, _ := strings.Cut(strings.TrimSpace(argument), " ")
	class := llm.Class(name)
	if !slices.Contains(classes, class) {
		return fmt.Errorf("%q is no class of errors: use one of %s", name, joined(classes))
	}
	if s.answers() || len(s.beats) > 0 || s.reply.Usage != (llm.Usage{}) {
		return errors.New("`fail` is about an attempt before this reply: write it before all other lines of the reply")
	}
	if message == "" {
		message = "the script says so"
	}
	s.fails = append(s.fails, &llm.Error{Class: class, Message: message})
	return nil
}

func (s *scene) wait(argument string) error {
	d, err := time.ParseDuration(strings.TrimSpace(argument))
	if err != nil || d <= 0 || d > maxWait {
		return fmt.Errorf("%q is no time to wait: use a duration such as 20ms, at most %s", strings.TrimSpace(argument), maxWait)
	}
	s.beats = append(s.beats, beat{wait: d})
	return nil
}

func (s *scene) usage(argument string) error {
	wrong := fmt.Errorf("%q are no numbers of tokens: write the input tokens, the output tokens and, if you want, the cached ones, as in `usage 120 30`", argument)
	fields := strings.Fields(argument)
	if len(fields) != 2 && len(fields) != 3 {
		return wrong
	}
	counts := make([]int, 3)
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > llm.MaxReplyTokens {
			return wrong
		}
		counts[i] = n
	}
	s.reply.Usage = llm.Usage{InputTokens: counts[0], OutputTokens: counts[1], CachedTokens: counts[2]}
	return nil
}

// unquoted returns the text of a command, which is a JSON string if it is in double quotes.
func unquoted(argument string) (string, error) {
	trimmed := strings.TrimSpace(argument)
	if len(trimmed) < 2 || trimmed[0] != '"' || trimmed[len(trimmed)-1] != '"' {
		return argument, nil
	}
	var text string
	if err := json.Unmarshal([]byte(trimmed), &text); err != nil {
		return "", fmt.Errorf("%s is no JSON string: write \\\" and \\\\ inside of the quotes", trimmed)
	}
	return text, nil
}

// classes are the classes that a script can name.
var classes = []llm.Class{
	llm.RateLimited, llm.Overloaded, llm.ServerError, llm.Connection, llm.EmptyReply, llm.BadReply, llm.NoCredential,
	llm.ContextTooLong, llm.InvalidRequest, llm.Unauthorized, llm.QuotaExceeded, llm.NotFound, llm.Filtered, llm.TooLarge,
}

func joined(classes []llm.Class) string {
	var names []string
	for _, c := range classes {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}
