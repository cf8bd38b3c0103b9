package activities

import (
	"context"
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/tool"
)

// readBytes is the number of bytes that the tool `read_result` returns if the model does not say how many bytes to read.
const readBytes = 16 << 10

// headBytes is the number of bytes that the tool `read_result` reserves for the first line of its result, which says which
// bytes follow.
const headBytes = 100

type readArguments struct {
	Handle string `json:"handle" jsonschema:"the handle in the note of what was left out"`
	Offset int    `json:"offset,omitempty" jsonschema:"the byte from which on to read; 0 is the first"`
	Length int    `json:"length,omitempty" jsonschema:"how many bytes to read, 16384 if left out"`
}

// resultReader returns the tool `read_result`. The transcript contains only the beginning and the end of a long tool result.
// With this tool, the model can read the part between them. The tool takes this part from the agent's history, which stores
// more of a result than the transcript contains.
func (a *Activities) resultReader() (tool.Tool, error) {
	return tool.Func(agent.ReadResult, "Reads on in the result of an earlier tool call of which a part was left out.", tool.ReadOnly,
		func(ctx context.Context, in readArguments) (string, error) {
			whole, err := a.runs.Result(ctx, strings.TrimSpace(in.Handle))
			if err != nil {
				return "", err
			}
			if in.Length <= 0 {
				in.Length = readBytes
			}
			// The transcript would cut a longer result again.
			if limit := tool.InfoFrom(ctx).ResultBytes; limit > 0 {
				in.Length = min(in.Length, max(limit-headBytes, 1))
			}
			from := len(clip.Prefix(whole, in.Offset))
			part := clip.Prefix(whole[from:], in.Length)
			return fmt.Sprintf("bytes %d to %d of %d:\n%s", from, from+len(part), len(whole), part), nil
		})
}
