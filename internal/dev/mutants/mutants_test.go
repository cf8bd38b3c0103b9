package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each mutant changes one place of the code as it is now, into Go text that can be parsed.
func TestEveryMutantFitsTheCode(t *testing.T) {
	all, err := readAll("testdata", nil)
	require.NoError(t, err)
	for _, m := range all {
		changed, err := m.apply("../../..")
		if err != nil {
			t.Error(err)
		}
		for file, text := range changed {
			if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// A claim whose tests cannot fail is not proved.
func TestEveryFailureNamesItsMutants(t *testing.T) {
	all, err := readAll("testdata", nil)
	require.NoError(t, err)
	require.NoError(t, requireRows("../../../docs/failures.md", all))
}
