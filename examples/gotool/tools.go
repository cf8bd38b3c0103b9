package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/tool"
)

// Fruit has the arguments of the tool named "price". The model sees a JSON schema made from this type.
type Fruit struct {
	Name string `json:"name" jsonschema:"the fruit, in English and singular"`
}

// Order has the arguments of the tool named "order".
type Order struct {
	Name  string `json:"name" jsonschema:"the fruit, in English and singular"`
	Kilos int    `json:"kilos"`
}

var prices = map[string]int{"apple": 3, "cherry": 9}

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
		// If it is not known whether a call ran, the call runs again. The book recognises the call by its key.
		reagent.Func("order", "Orders fruit.", reagent.Idempotent, order),
	}
}

// book stands for a remote service that accepts orders. If it gets two orders with the same idempotency key, it enters only
// the first. Unlike a real service, it loses its orders when the worker ends.
type book struct {
	mu      sync.Mutex
	numbers map[string]int
}

// enter enters an order and returns the number of the order. `key` is the idempotency key of the order. The same key always
// gets the same number.
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
