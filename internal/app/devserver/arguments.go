package devserver

import (
	"maps"
	"slices"
	"strconv"
)

// DynamicConfig has settings of the Temporal server, as JSON values by name. [Start] gives these settings to every server.
// [Options].DynamicConfig can add settings or replace some. The settings make a server with one shard fast for one client: a step
// of a workflow takes 3 ms instead of 100 ms.
//
// Without these settings, the server polls its transfer queue only 20 times per second. A task queue has four partitions, and
// a task may wait in a partition without a poller. Eager activities are off in servers before 1.30. Worker heartbeats, by which workers see
// that one of them is lost, are off in 1.29.
var DynamicConfig = map[string]string{
	"history.transferProcessorMaxPollRPS":  "2000",
	"matching.numTaskqueueReadPartitions":  "1",
	"matching.numTaskqueueWritePartitions": "1",
	"system.enableActivityEagerExecution":  "true",
	"frontend.WorkerHeartbeatsEnabled":     "true",
	"frontend.ListWorkersEnabled":          "true",
}

// Equal options give the same arguments in the same order.
func arguments(s *Server, opts Options) []string {
	args := []string{
		"server", "start-dev",
		"--ip", host,
		"--port", strconv.Itoa(s.port),
		"--ui-port", strconv.Itoa(s.uiPort),
		"--log-level", "warn",
	}
	if s.metrics != 0 {
		args = append(args, "--metrics-port", strconv.Itoa(s.metrics))
	}
	// The server always creates the namespace "default".
	if opts.Namespace != "default" {
		args = append(args, "--namespace", opts.Namespace)
	}
	if opts.DBFilename != "" {
		args = append(args, "--db-filename", opts.DBFilename)
	}
	settings := maps.Clone(DynamicConfig)
	maps.Copy(settings, opts.DynamicConfig)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "--dynamic-config-value", key+"="+settings[key])
	}
	for _, key := range slices.Sorted(maps.Keys(opts.SearchAttributes)) {
		args = append(args, "--search-attribute", key+"="+opts.SearchAttributes[key])
	}
	return args
}
