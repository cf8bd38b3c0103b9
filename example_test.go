package reagent_test

import (
	"context"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent"
)

// Price is the answer: the model is given its JSON schema.
type Price struct {
	Euros int `json:"euros"`
}

// A program starts an agent and waits for a typed answer.
func ExampleAsk() {
	ctx := context.Background()
	temporal, err := client.Dial(client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer temporal.Close()
	agents := reagent.NewClient(temporal, "orders")
	price, err := reagent.Ask[Price](ctx, agents, reagent.StartOptions{Agent: "clerk", Message: "A kilo of cherries?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(price.Euros)
}
