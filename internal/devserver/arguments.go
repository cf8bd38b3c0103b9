package devserver

import (
	"maps"
	"slices"
	"strconv"
)

// DynamicConfig are the settings that make a server with one shard and one
// client quick: 3 ms a step instead of 100. The values are JSON.
//
// Without the first, a transfer queue is polled 20 times a second; without the
// partitions, tasks wait in one of four that nobody polls at that moment; and
// eager activities are off before server 1.30.
var DynamicConfig = map[string]string{
	"history.transferProcessorMaxPollRPS":  "2000",
	"matching.numTaskqueueReadPartitions":  "1",
	"matching.numTaskqueueWritePartitions": "1",
	"system.enableActivityEagerExecution":  "true",
}

// arguments are the command line of the server, the same for the same options.
func arguments(s *Server, opts Options) []string {
	args := []string{
		"server", "start-dev",
		"--ip", host,
		"--port", strconv.Itoa(s.port),
		"--ui-port", strconv.Itoa(s.uiPort),
		"--log-level", "warn",
	}
	// The namespace "default" is always made.
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
