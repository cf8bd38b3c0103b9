package client

import (
	"context"
	"fmt"
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// MissingAttributes returns the names of the search attributes of agents that a namespace does not have, sorted. If an attribute exists with
// another type, it returns an error.
func (c *Client) MissingAttributes(ctx context.Context, namespace string) ([]string, error) {
	known, err := c.temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, served("list the search attributes", err)
	}
	var missing []string
	types := protocol.AttributeTypes()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		has, ok := known.GetCustomAttributes()[name]
		switch {
		case !ok:
			missing = append(missing, name)
		case has.String() != types[name]:
			return nil, fmt.Errorf("the search attribute %s has the type %s in namespace %q; agents need %s: remove it with `temporal operator search-attribute remove` (in Temporal Cloud, ask Temporal's support), and register it again", name, has, namespace, types[name])
		}
	}
	return missing, nil
}

// Setup registers the search attributes of agents that a namespace does not have yet, and returns their names, sorted. The server may
// need some time before agents can be started with them. If an attribute exists with another type, Setup registers nothing and returns
// an error. Temporal Cloud takes search attributes only from its own tools: `tcld namespace search-attributes add`, or the Cloud UI.
func (c *Client) Setup(ctx context.Context, namespace string) ([]string, error) {
	missing, err := c.MissingAttributes(ctx, namespace)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	add := map[string]enumspb.IndexedValueType{}
	for _, name := range missing {
		kind := protocol.AttributeTypes()[name]
		value, err := enumspb.IndexedValueTypeFromString(kind)
		if err != nil {
			return nil, fmt.Errorf("search attribute %s: %w", name, err)
		}
		add[name] = value
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: add}
	if _, err := c.temporal.OperatorService().AddSearchAttributes(ctx, request); err != nil {
		return nil, served("register the search attributes", err)
	}
	return missing, nil
}
