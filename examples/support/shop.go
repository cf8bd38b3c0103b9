package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/tool"
)

// shop is the HTTP API of the shop. It does nothing twice for one Idempotency-Key, so its tools may run again after a crash.
type shop string

// Refund has the arguments of the tool refund.
type Refund struct {
	Order string  `json:"order"`
	Euros float64 `json:"euros"`
}

func (s shop) tools() []reagent.Tool {
	return []reagent.Tool{
		reagent.Func("orders", "The orders of the customer.", reagent.ReadOnly, tooled[struct{}](s, http.MethodGet, "/orders")),
		reagent.Func("refund", "Pays money back to the customer.", reagent.Idempotent, tooled[Refund](s, http.MethodPost, "/refunds")),
		reagent.Func("ticket", "Opens a ticket.", reagent.Idempotent, tooled[struct{ Text string }](s, http.MethodPost, "/tickets")),
	}
}

// tooled returns a tool that sends a request about the customer of the chat. The customer comes from the service and not from the model, which
// could be talked into the name of another one.
func tooled[In any](s shop, method, path string) func(context.Context, In) (string, error) {
	return func(ctx context.Context, in In) (string, error) {
		body, _ := json.Marshal(in) // it came as JSON
		address := string(s) + "/customers/" + url.PathEscape(tool.InfoFrom(ctx).Metadata["customer"]) + path
		r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body)) //nolint:gosec // SHOP_URL is the host
		if err != nil {
			return "", err
		}
		response, err := tool.Do(nil, r)
		if err != nil {
			return "", err // the model reads it
		}
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		return string(text), err
	}
}
