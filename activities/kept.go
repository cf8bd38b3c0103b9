package activities

import (
	"encoding/json"
	"log/slog"

	"github.com/maypok86/otter/v2"

	"github.com/reagent-dev/reagent/agent"
)

// kept holds the results of finished effects by key, from before they are reported to Temporal: a report that
// does not arrive in time is made again by a later attempt, and not the effect. Results are in memory and, where
// a folder is given, in files too. It is safe for concurrent use.
type kept struct {
	memory *otter.Cache[agent.Key, []byte] // JSON
	folder *folder                         // nil without one
	log    *slog.Logger
}

// newKept returns a store with so many bytes of memory. An empty dir means no folder.
func newKept(bytes int, dir string, log *slog.Logger) (*kept, error) {
	memory, err := otter.New(&otter.Options[agent.Key, []byte]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(key agent.Key, data []byte) uint32 { return uint32(len(key) + len(data)) },
	})
	if err != nil {
		return nil, err
	}
	k := &kept{memory: memory, log: log}
	if dir != "" {
		k.folder, err = openFolder(dir)
	}
	return k, err
}

// put keeps a result. An error of the folder is logged: the result is still in memory.
func (k *kept) put(key agent.Key, result any) {
	data, err := json.Marshal(result)
	if err != nil {
		k.log.Error("a result is not kept", "key", key, "error", err)
		return
	}
	k.memory.Set(key, data)
	if k.folder == nil {
		return
	}
	if err := k.folder.write(string(key), data); err != nil {
		k.log.Error("a result is kept in memory only", "key", key, "error", err)
	}
}

// has reports whether there is a result of a key.
func (k *kept) has(key agent.Key) bool {
	var result json.RawMessage
	return k.get(key, &result)
}

// get decodes the result of a key into out and reports whether there is one. A file that cannot be read is logged
// and ignored.
func (k *kept) get(key agent.Key, out any) bool {
	data, ok := k.memory.GetIfPresent(key)
	if !ok && k.folder != nil {
		var err error
		if data, err = k.folder.read(string(key)); err != nil {
			k.log.Error("a kept result cannot be read", "key", key, "error", err)
		}
	}
	if len(data) == 0 {
		return false
	}
	if err := json.Unmarshal(data, out); err != nil {
		k.log.Error("a kept result cannot be read", "key", key, "error", err)
		return false
	}
	return true
}
