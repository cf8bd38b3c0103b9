package attempt

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/maypok86/otter/v2"

	"github.com/reagent-dev/reagent/activities/internal/bounded"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/logs"
)

// kept stores the results of model calls and tool calls. A worker stores a result before it reports the result to Temporal.
// If the report does not reach Temporal in time, a later attempt reports the stored result, and the call is not repeated.
// Results are in memory and, if there is a folder, also in files. A kept is safe for concurrent use.
type kept struct {
	memory *otter.Cache[agent.Key, []byte]
	// folder is nil if results are in memory only.
	folder *folder
	sealer sealer
	log    *slog.Logger
}

// entryBytes is the approximate size of an entry in memory besides its key and its data, in bytes. Without it, many short results would
// need several times the memory that they may use.
const entryBytes = 150

// newKept returns a store that uses at most `bytes` bytes of memory, and files in the directory `dir`. If dir is empty, the
// store uses no files. The sealer encodes the files.
func newKept(bytes int, dir string, sealer sealer, log *slog.Logger) (*kept, error) {
	memory := bounded.Cache(bytes, func(key agent.Key, data []byte) int { return entryBytes + len(key) + len(data) })
	k := &kept{memory: memory, sealer: sealer, log: log}
	var err error
	if dir != "" {
		k.folder, err = openFolder(dir)
	}
	return k, err
}

// put stores a result under a key, as JSON. If the result cannot be written to the folder, it stays in memory, and the error
// is only logged. If the result cannot be encoded, the error is logged and nothing is stored.
func (k *kept) put(ctx context.Context, key agent.Key, result any) {
	data, err := json.Marshal(result)
	if err != nil {
		k.log.ErrorContext(ctx, "a result is not kept: it cannot be encoded", logs.Key, key, "error", err)
		return
	}
	k.memory.Set(key, data)
	if k.folder == nil {
		return
	}
	file, err := k.sealer.seal(data)
	if err == nil {
		err = k.folder.write(string(key), file)
	}
	if err != nil {
		k.log.ErrorContext(ctx, "a result is kept in memory only: it cannot be written to the folder", logs.Key, key, "error", err)
	}
}

func (k *kept) has(key agent.Key) bool {
	var result json.RawMessage
	return k.get(context.Background(), key, &result)
}

// get decodes the result that is stored under the key into the variable to which `out` points. It reports whether there is a
// result. If the stored result cannot be read or decoded, get logs the error and returns false.
func (k *kept) get(ctx context.Context, key agent.Key, out any) bool {
	data, ok := k.memory.GetIfPresent(key)
	var err error
	if !ok && k.folder != nil {
		data, err = k.folder.read(string(key))
		if err == nil && data != nil {
			data, err = k.sealer.open(data)
		}
	}
	if err == nil && data == nil {
		return false
	}
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		k.log.ErrorContext(ctx, "a kept result cannot be read", logs.Key, key, "error", err)
	}
	return err == nil
}
