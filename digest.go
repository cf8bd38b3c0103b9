package reagent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

const (
	// digestMark stands before the digest of a worker's definitions in its identity.
	digestMark = " definitions "
	// compareTimeout limits the look at the other workers of the task queue.
	compareTimeout = 5 * time.Second
	// polledWithin is the age up to which a poll counts as one of a worker that still runs. Temporal lists a poller for five
	// minutes, and a poll lasts up to one.
	polledWithin = 90 * time.Second
)

// identity returns the worker's name for Temporal, which the Web UI shows: the SDK's own, and the digest of its definitions.
func identity(digest string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s%s%s", os.Getpid(), host, digestMark, digest)
}

// compareDefinitions warns about workers of the task queue that define their agents differently: an agent has the definition of whichever
// worker is asked first. What cannot be compared is logged, and is no reason not to serve.
func compareDefinitions(ctx context.Context, temporal client.Client, taskQueue, digest string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	found, err := temporal.DescribeTaskQueue(ctx, taskQueue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		log.InfoContext(ctx, "the definitions of other workers could not be compared", "error", err)
		return
	}
	for _, other := range found.GetPollers() {
		_, theirs, named := strings.Cut(other.GetIdentity(), digestMark)
		if named && theirs != digest && time.Since(other.GetLastAccessTime().AsTime()) < polledWithin {
			log.WarnContext(ctx, "another worker of this task queue defines its agents differently, and a new agent gets the definition of "+
				"the worker that is asked first; unless you are rolling out a change, give all workers the same configuration and MCP servers",
				"worker", other.GetIdentity(), "definitions", digest)
		}
	}
}
