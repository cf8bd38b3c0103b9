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

// Setup registers the search attributes of agents that a namespace does not have yet, and returns their names, sorted. The server may
// need some time before agents can be started with them. If an attribute exists with another type, Setup registers nothing and returns
// an error. Temporal Cloud takes search attributes only from its own tools: `tcld namespace search-attributes add`, or the Cloud UI.
func (c *Client) Setup(ctx context.Context, namespace string) ([]string, error) {
	service := c.temporal.OperatorService()
	known, err := service.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, served("list the search attributes", err)
	}
	add := map[string]enumspb.IndexedValueType{}
	for name, kind := range protocol.AttributeTypes() {
		if has, ok := known.GetCustomAttributes()[name]; ok {
			if has.String() != kind {
				return nil, fmt.Errorf("the search attribute %s has the type %s in namespace %q; agents need %s: remove it with `temporal operator search-attribute remove` (in Temporal Cloud, ask Temporal's support), and register it again", name, has, namespace, kind)
			}
			continue
		}
		value, err := enumspb.IndexedValueTypeFromString(kind)
		if err != nil {
			return nil, fmt.Errorf("search attribute %s: %w", name, err)
		}
		add[name] = value
	}
	if len(add) == 0 {
		return nil, nil
	}
	if _, err := service.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: add}); err != nil {
		return nil, served("register the search attributes", err)
	}
	return slices.Sorted(maps.Keys(add)), nil
}
