package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each mutant changes one place of the code as it is now, into Go text that can be parsed, and names a test that there is.
func TestEveryMutantFitsTheCode(t *testing.T) {
	all, err := readAll("testdata", nil)
	require.NoError(t, err)
	tests := map[string]map[string]bool{}
	for _, m := range all {
		folder := strings.TrimPrefix(m.testPackage, "./")
		if tests[folder] == nil {
			tests[folder] = testsIn(t, folder)
		}
		if !tests[folder][m.test] {
			t.Errorf("%s: there is no %s in %s", m.name, m.test, folder)
		}
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

// A name that docs/failures.md gives a test is that of a test in the package that stands before it.
func TestEveryTestOfARowExists(t *testing.T) {
	page, err := os.ReadFile("../../../docs/failures.md")
	require.NoError(t, err)
	found := map[string]map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([ABC][0-9]+) \|.*\| ([^|]*) \| [^|]* \|$`).FindAllStringSubmatch(string(page), -1) {
		for of := range strings.SplitSeq(row[2], ";") {
			folder := regexp.MustCompile("`([^`]+)`").FindStringSubmatch(of)
			require.NotNil(t, folder, "row %s: %s", row[1], of)
			if found[folder[1]] == nil {
				found[folder[1]] = testsIn(t, folder[1])
			}
			for _, name := range regexp.MustCompile(`\b(Test|Fuzz)\w+`).FindAllString(of, -1) {
				require.True(t, found[folder[1]][name], "row %s: there is no %s in %s", row[1], name, folder[1])
			}
		}
	}
	require.NotEmpty(t, found)
}

// testsIn returns the names of the tests in a folder; in that of e2e, also of those in the folders below it.
func testsIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		in := filepath.ToSlash(filepath.Dir(path))
		inside := in == filepath.ToSlash(filepath.Join("../../..", folder)) || folder == "e2e" && strings.HasPrefix(in, "../../../e2e/")
		if !inside || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests[name[1]] = true
		}
		return err
	}))
	return tests
}
