package activities

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/tool"
)

// questions returns the tool `ask_user`. With this tool, the model asks a person. The answer is the result of the call.
func questions() (tool.Tool, error) {
	return tool.NewExternal(tool.Spec{
		Name:        agent.AskUser,
		Description: "Asks the user a question and waits for the answer. Use it when you cannot go on without a decision or a fact that only the user has.",
		Schema:      []byte(agent.QuestionSchema),
		// A question changes nothing, so an approval policy of "destructive" does not ask for permission to ask.
		NotDestructive: true,
	})
}
