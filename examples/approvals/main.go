// Command approvals lists the calls that wait for a person, and settles them with what the person types.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	temporal "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

func main() {
	if err := settle(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func settle(ctx context.Context) error {
	options, err := reagent.ClientOptions("", "")
	if err != nil {
		return err
	}
	c, err := temporal.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer c.Close()

	agents := reagent.NewClient(c, "approvals")
	waiting, err := agents.Inbox(ctx)
	if err != nil {
		return err
	}
	typed := bufio.NewScanner(os.Stdin)
	for _, w := range waiting {
		// The model has written the arguments. %q shows all of them, and lets none of them control the terminal.
		fmt.Printf("%s: %s %q waits for %s: ", w.AgentID, w.Call.Name, w.Call.Arguments, w.Call.WaitsFor())
		if !typed.Scan() {
			return typed.Err()
		}
		if err := agents.Decide(ctx, w, decision(w, typed.Text())); err != nil {
			return err
		}
	}
	return nil
}

// decision returns what the person has decided. "y" approves a call, and any other text is the reason for a denial. If the call does
// not wait for an approval, the text is its result.
func decision(w client.Waits, text string) agent.Decision {
	switch {
	case w.Call.WaitsFor() != agent.WaitsForApproval:
		return agent.Decision{Result: &agent.GivenResult{Content: text}}
	case text == "y":
		return agent.Decision{Approve: true}
	}
	return agent.Decision{Reason: text}
}
