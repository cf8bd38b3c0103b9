package external

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// driver stores nothing.
type driver struct{}

func (driver) Name() string { return "none" }

func (driver) Type() string { return "none" }

func (driver) Store(converter.StorageDriverStoreContext, []*commonpb.Payload) ([]converter.StorageDriverClaim, error) {
	return nil, nil
}

func (driver) Retrieve(converter.StorageDriverRetrieveContext, []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
	return nil, nil
}

// wrapper is a client of a program that changes a method of Temporal's client.
type wrapper struct {
	client.Client
}

func (wrapper) CheckHealth(context.Context, *client.CheckHealthRequest) (*client.CheckHealthResponse, error) {
	return nil, nil //nolint:nilnil // it is never called
}

// If this fails after an upgrade of Temporal's SDK, see how a client tells now that it has external storage.
func TestExternalStorageIsNoticed(t *testing.T) {
	for want, o := range map[error]client.Options{
		nil:        {},
		ErrStorage: {ExternalStorage: converter.ExternalStorage{Drivers: []converter.StorageDriver{driver{}}}},
	} {
		c, err := client.NewLazyClient(o)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		require.Equal(t, want, Check(c))
		require.Equal(t, want, Check(&wrapper{c}))
		require.Equal(t, want, Check(wrapper{wrapper{c}}))
	}
	require.NoError(t, Check(nil))
}
