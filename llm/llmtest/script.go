package llmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// MaxScriptBytes is the largest size of a script file.
const MaxScriptBytes = 1 << 20

// ScriptError says what is wrong with a script file.
type ScriptError struct {
	// File is the name of the file, and Line the number of the line, counted from 1.
	File string
	Line int
	// Problem says what is wrong and what to write instead.
	Problem string
}

// Error returns "file:line: problem", so that editors find the line.
func (e *ScriptError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem) }

// ReadScript returns the model that [ParseScript] makes of a file. An error about the text is a [*ScriptError].
func ReadScript(path string) (*Model, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the script of a model: %w", err)
	}
	return ParseScript(path, text)
}

// ParseScript returns a model that gives the replies of a text. Like [Script], it chooses the reply by the number of assistant messages in
// the request. `file` names the text in errors, which are [*ScriptError].
//
// A blank line ends a reply, and a line that begins with # is a comment. Each other line is a command and its argument:
//
//	say TEXT          a line of the reply's text. Several lines become lines of one text.
//	call TOOL {JSON}  a tool call. Without arguments, they are {}.
//	stream TEXT       a piece of the text, which callers that stream see at once. Pieces are joined without a line break.
//	fail CLASS TEXT   the first attempt at this reply fails, for example with the class Overloaded: see [llm.Class]. Several lines are
//	                  several attempts. If the reply has nothing else, the last line holds for all further attempts.
//	wait DURATION     the model waits here, for example 20ms, at most 1 minute. This is the time of a clock on the wall.
//	usage IN OUT      the input and output tokens of the reply. A third number has the input tokens that came from a cache.
//
// A TEXT in double quotes is a JSON string. It can begin and end with spaces, and contain any character.
func ParseScript(file string, text []byte) (*Model, error) {
	if len(text) > MaxScriptBytes {
		return nil, &ScriptError{File: file, Line: 1, Problem: fmt.Sprintf("the script has %d bytes; the limit is %d: use several models", len(text), MaxScriptBytes)}
	}
	var replies []scene
	var now scene
	begins, calls := 0, 0
	end := func() error {
		if begins == 0 {
			return nil
		}
		if !now.answers() && len(now.fails) == 0 {
			return &ScriptError{File: file, Line: begins, Problem: "this reply has no text and no call: add a line with `say`, `stream` or `call`"}
		}
		replies = append(replies, now)
		now, begins = scene{}, 0
		return nil
	}
	for i, line := range strings.Split(string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))), "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "":
			if err := end(); err != nil {
				return nil, err
			}
			continue
		case strings.HasPrefix(trimmed, "#"):
			continue
		}
		if begins == 0 {
			begins = i + 1
		}
		command, argument, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
		read := commands[command]
		if read == nil {
			return nil, &ScriptError{File: file, Line: i + 1, Problem: fmt.Sprintf("%q is no command: use say, call, stream, fail, wait or usage", command)}
		}
		if err := read(&now, argument); err != nil {
			return nil, &ScriptError{File: file, Line: i + 1, Problem: err.Error()}
		}
		if command == "call" {
			calls++
			now.reply.Message.ToolCalls[len(now.reply.Message.ToolCalls)-1].ID = fmt.Sprint("call_", calls)
		}
	}
	if err := end(); err != nil {
		return nil, err
	}
	if len(replies) == 0 {
		return nil, &ScriptError{File: file, Line: 1, Problem: "the script has no reply: write a line such as `say Hello.`"}
	}
	return (&play{replies: replies, failed: map[string]int{}}).model(), nil
}

// scene is one reply of a script, with what happens before it.
type scene struct {
	fails []*llm.Error
	beats []beat
	reply llm.Reply
	said  bool
}

// beat is a wait or a piece of the text.
type beat struct {
	wait  time.Duration
	piece string
}

func (s *scene) streamed() bool { return !s.said && s.reply.Message.Content != "" }

// answers reports whether there is a reply, and not only failures, waits and usage.
func (s *scene) answers() bool {
	return s.said || s.reply.Message.Content != "" || len(s.reply.Message.ToolCalls) > 0
}

// play gives the replies of a script. It counts the failures of each request.
type play struct {
	replies []scene

	mu     sync.Mutex
	failed map[string]int // by the key of the request and the number of the reply
}

func (p *play) model() *Model {
	return Func(func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		turn, err := turnOf(req, len(p.replies))
		if err != nil {
			return llm.Reply{}, err
		}
		now := p.replies[turn]
		if failure := p.failure(now, fmt.Sprint(turn, " ", req.Key)); failure != nil {
			return llm.Reply{}, failure
		}
		show := llm.Stream(ctx)
		for _, b := range now.beats {
			if err := pause(ctx, b.wait); err != nil {
				return llm.Reply{}, err
			}
			if b.piece != "" {
				show(llm.Delta{Text: b.piece})
			}
		}
		return now.reply, nil
	})
}

// failure returns the error of this attempt at a reply; nil if the attempt succeeds.
func (p *play) failure(now scene, request string) error {
	if len(now.fails) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.failed[request]
	if n >= len(now.fails) && now.answers() {
		return nil
	}
	p.failed[request]++
	return now.fails[min(n, len(now.fails)-1)]
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("scripted model: %w", ctx.Err())
	}
}

// turnOf returns the number of assistant messages in a request, which selects the reply. The error says that there is no such reply.
func turnOf(req llm.Request, replies int) (int, error) {
	turn := 0
	for _, message := range req.Messages {
		if message.Role == llm.Assistant {
			turn++
		}
	}
	if turn >= replies {
		return 0, &llm.Error{Class: llm.InvalidRequest, Message: fmt.Sprintf(
			"the script has %d replies, and the request asks for number %d", replies, turn+1)}
	}
	return turn, nil
}

var errMixed = errors.New("a reply has either `say` or `stream`: use one of them, or begin another reply after a blank line")
