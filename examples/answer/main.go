// Command answer asks the agent of the example gotool for a price, and prints the number.
package main

import (
	"context"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent"
)

// Price is the type of the agent's answer. The model gets the JSON schema of this type.
type Price struct {
	Euros int `json:"euros" jsonschema:"the price of a kilo"`
}

func main() {
	if err := ask(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func ask(ctx context.Context) error {
	options, err := reagent.ClientOptions("", "")
	if err != nil {
		return err
	}
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer temporal.Close()

	agents := reagent.NewClient(temporal, "gotool")
	price, err := reagent.Execute[Price](ctx, agents, reagent.StartOptions{ID: "cherries", Agent: "clerk", Message: "What do cherries cost?"})
	if err != nil {
		return err
	}
	fmt.Println(price.Euros)
	return nil
}
