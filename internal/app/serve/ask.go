package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/llm"
)

// askedTokens is the largest number of tokens that [Ask] asks for. Some endpoints refuse fewer.
const askedTokens = 16

// Ask asks a model of a configuration for a few tokens. It sends the model's key, and none of its parameters. The error says why there is no
// reply. A reply without text is a reply: a model that reasons may use all tokens for that.
func Ask(ctx context.Context, name string, m config.Model) error {
	model, err := modelOf(m)
	if err != nil {
		return err
	}
	client, err := model.NewClient(name)
	if err != nil {
		return fmt.Errorf("its settings: %w", err)
	}
	_, err = client.Complete(ctx, llm.Request{
		Candidates: []llm.Candidate{{Name: name, Model: m.Model}},
		Params:     llm.Params{MaxOutputTokens: askedTokens},
		Messages:   []llm.Message{{Role: llm.User, Content: "Reply with the word yes."}},
	})
	if errors.Is(err, llm.ErrEmptyReply) {
		return nil
	}
	return err
}
