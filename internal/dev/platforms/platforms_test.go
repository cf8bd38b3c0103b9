package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCallThatASystemDoesNotHaveIsFound(t *testing.T) {
	check := func(system string) error {
		return platform{system: system, without: []string{"e2e/"}}.check(t.Context(), "./testdata/kill")
	}
	require.NoError(t, check("darwin"))
	require.ErrorContains(t, check("windows"), "kill_test.go:9:20: undefined: syscall.Kill")
}

func TestPackagesOfTheModuleAreChecked(t *testing.T) {
	p := platform{without: []string{"e2e/", "internal/dev/gates"}}
	for path, want := range map[string]bool{
		module:                                 true,
		module + "_test [" + module + ".test]": true,
		module + "/agent [" + module + "/agent.test]": true,
		module + "/internal/dev/gates":                false,
		module + "/internal/dev/gates_test [x.test]":  false,
		module + "/e2e/cli_test [x.test]":             false,
		module + "extra":                              false,
		"syscall":                                     false,
	} {
		require.Equal(t, want, p.has(path), path)
	}
}
