package reagent

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/internal/protocol"
)

const (
	// compareTimeout limits the time of [compareDefinitions], because the worker starts only after it.
	compareTimeout = 5 * time.Second
	// polledWithin is the time for which a worker counts as running after its last poll. A poll lasts up to one minute. Temporal
	// lists a worker for five minutes after its last poll, even if the worker has ended.
	polledWithin = 90 * time.Second
)

// digest returns 12 hexadecimal digits of a hash of the definitions of a worker: see [activities.Activities.Digests].
func digest(definitions map[string]string) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		fmt.Fprintln(all, name, definitions[name])
	}
	return hex.EncodeToString(all.Sum(nil))[:12]
}

// identity returns the identity of this worker: the process ID, the host name, four random bytes, and the digest of its agent definitions.
// Temporal's Web UI shows the identity, and other workers compare the digest with their own: see [compareDefinitions]. A container that is
// started again may have the same process ID and host name, so the random bytes tell the calls of the two processes apart.
func identity(digest string) string {
	host, _ := os.Hostname() // empty after an error
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Sprintf("%d@%s-%x%s%s", os.Getpid(), cmp.Or(host, "unknown"), random, protocol.DigestMark, digest)
}

// compareDefinitions warns if other workers of the task queue define their agents differently. It logs one warning for each
// such worker that is running. Different definitions are usually a mistake: any of the workers may read the definition for a
// new agent, so new agents may get different definitions.
//
// By default, the identity of each worker contains a digest of the worker's definitions: see [identity]. compareDefinitions
// compares these digests with the given digest of this worker. If Temporal does not list the workers within [compareTimeout], or returns
// an error, compareDefinitions logs only that the definitions could not be compared.
func compareDefinitions(ctx context.Context, temporal client.Client, taskQueue, digest string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	found, err := temporal.DescribeTaskQueue(ctx, taskQueue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		log.InfoContext(ctx, "the definitions of other workers could not be compared", "error", err)
		return
	}
	for _, other := range found.GetPollers() {
		_, theirs, named := strings.Cut(other.GetIdentity(), protocol.DigestMark)
		if named && theirs != digest && time.Since(other.GetLastAccessTime().AsTime()) < polledWithin {
			log.WarnContext(ctx, "another worker of this task queue defines its agents differently, and a new agent gets its definition from whichever "+
				"worker reads it first; give all workers the same configuration and MCP servers, unless you are rolling out a change",
				"worker", other.GetIdentity(), "definitions", digest)
		}
	}
}
