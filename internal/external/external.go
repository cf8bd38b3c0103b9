// Package external refuses Temporal clients that keep payloads outside Temporal.
package external

import (
	"errors"
	"reflect"

	"go.temporal.io/sdk/client"
)

// ErrStorage says that a Temporal client has external storage. The history then has references in place of large payloads. The SDK resolves
// them for workflows, but not for those who read a history. So an agent's calls could not be recalled, and the agent could not be shown,
// resumed or forked.
var ErrStorage = errors.New("the Temporal client has ExternalStorage: with it, agents could not be shown, resumed or forked, and would repeat their calls after a reset; leave ExternalStorage out of client.Options, because agents keep their payloads below Temporal's limits anyway")

// maxDepth is how deep [Check] looks into clients that embed others.
const maxDepth = 10

// Check returns [ErrStorage] if a client has external storage. Temporal's client does not tell, so Check looks into it. It looks into a client
// that embeds another one, too.
func Check(c client.Client) error {
	v := reflect.ValueOf(c)
	for range maxDepth {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return nil
		}
		if drivers := v.FieldByName("storageDriverTypes"); drivers.IsValid() && drivers.Kind() == reflect.Slice && drivers.Len() > 0 {
			return ErrStorage
		}
		if v = v.FieldByName("Client"); !v.IsValid() {
			return nil
		}
	}
	return nil
}
