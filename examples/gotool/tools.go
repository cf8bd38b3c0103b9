package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/tool"
)

// Fruit is what the model fills in to ask for a price. The schema it is shown is made of it.
type Fruit struct {
	Name string `json:"name" jsonschema:"the fruit, in English and singular"`
}

// Order is what the model fills in to buy.
type Order struct {
	Name  string `json:"name" jsonschema:"the fruit, in English and singular"`
	Kilos int    `json:"kilos"`
}

var prices = map[string]int{"apple": 3, "cherry": 9}

// tools makes tools of two functions.
func tools() []reagent.Tool {
	price := func(_ context.Context, in Fruit) (string, error) {
		euros, ok := prices[in.Name]
		if !ok {
			return "", fmt.Errorf("there is no fruit %q", in.Name) // the model reads this
		}
		return fmt.Sprint(euros, " euros"), nil
	}
	ordered := new(book)
	order := func(ctx context.Context, in Order) (string, error) {
		number := ordered.enter(tool.InfoFrom(ctx).Key)
		return fmt.Sprintf("order %d: %d kg of %s", number, in.Kilos, in.Name), nil
	}
	return []reagent.Tool{
		reagent.Func("price", "The price of a kilo, in euros.", reagent.ReadOnly, price),
		// It may run again when it is not known whether it ran, since the book knows the key.
		reagent.Func("order", "Orders fruit.", reagent.Idempotent, order),
	}
}

// book stands for the far side, such as a payment provider: what has a key that it knows is not
// done again. In earnest it outlives the worker.
type book struct {
	mu      sync.Mutex
	numbers map[string]int
}

// enter returns the number of the order with that key, the same however often it is asked.
func (b *book) enter(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.numbers == nil {
		b.numbers = map[string]int{}
	}
	if _, known := b.numbers[key]; !known {
		b.numbers[key] = len(b.numbers) + 1
	}
	return b.numbers[key]
}
