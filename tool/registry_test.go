package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// list is a source with a fixed list, or an error.
type list struct {
	tools []tool.Tool
	err   error
	asked int
}

func (l *list) Tools(context.Context) ([]tool.Tool, error) {
	l.asked++
	return l.tools, l.err
}

// stub is a tool that does nothing. It has a name for the model (name) and a name at its source (local).
type stub struct{ name, local string }

func (s stub) Spec() tool.Spec   { return tool.Spec{Name: s.name} }
func (s stub) LocalName() string { return s.local }
func (s stub) Call(context.Context, json.RawMessage) (tool.Result, error) {
	return tool.Result{}, nil
}

func registry(t *testing.T) (*tool.Registry, *list) {
	t.Helper()
	r := new(tool.Registry)
	require.NoError(t, r.Add(stub{name: "calculator"}))
	require.NoError(t, r.Add(stub{name: "read_file"}))
	files := &list{tools: []tool.Tool{stub{name: "fs_write", local: "write"}, stub{name: "fs_read", local: "read"}, stub{name: "a.b", local: "a.b"}}}
	require.NoError(t, r.AddSource("files", files))
	require.NoError(t, r.AddSource("down", &list{err: errors.New("connection refused")}))
	return r, files
}

func refs(bound []tool.Bound) (refs []string) {
	for _, b := range bound {
		refs = append(refs, b.Ref)
	}
	return refs
}

func TestResolveSortsByTheModelsName(t *testing.T) {
	r, files := registry(t)
	bound, err := r.Resolve(t.Context(), []string{"read_file", "files.write", "files.read", "calculator", "files.read"})
	require.NoError(t, err)
	require.Equal(t, []string{"calculator", "files.read", "files.write", "read_file"}, refs(bound))
	require.Equal(t, "fs_read", bound[1].Tool.Spec().Name)
	require.Equal(t, tool.AtMostOnce, bound[1].Tool.Spec().Effect)
	require.Equal(t, 1, files.asked)
	require.Equal(t, []string{"calculator", "down.*", "files.*", "read_file"}, r.Names())

	none, err := r.Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestResolveRefusesNamesThatModelsDoNotTake(t *testing.T) {
	r, files := registry(t)
	_, err := r.Resolve(t.Context(), []string{"files.*"})
	var nameErr *tool.NameError
	require.ErrorAs(t, err, &nameErr)
	require.Equal(t, &tool.NameError{Name: "a.b", Refs: []string{"files.a.b"}}, nameErr)
	require.ErrorContains(t, err, "prefix or rename")

	files.tools = []tool.Tool{stub{name: "read_file", local: "read_file"}}
	_, err = r.Resolve(t.Context(), []string{"files.*", "read_file"})
	require.ErrorAs(t, err, &nameErr)
	require.Equal(t, []string{"files.read_file", "read_file"}, nameErr.Refs)
	require.ErrorContains(t, err, "prefix or rename")

	_, err = r.Resolve(t.Context(), []string{"files.*"})
	require.NoError(t, err, "one agent may have either")
}

func TestUnknownToolSaysWhatThereIs(t *testing.T) {
	r, _ := registry(t)
	var unknown *tool.UnknownToolError
	for ref, nearest := range map[string]string{
		"calculater": "calculator", "files.reed": "files.read", "file.*": "files.*", "": "", "zzzzzzzz": "", "read_file.*": "read_file",
	} {
		_, err := r.Resolve(t.Context(), []string{ref})
		require.ErrorAs(t, err, &unknown, ref)
		require.Equal(t, nearest, unknown.Nearest, ref)
		require.Contains(t, err.Error(), "calculator")
	}
	_, err := r.Lookup(t.Context(), "files.*")
	require.ErrorAs(t, err, &unknown)
	_, err = r.Lookup(t.Context(), "files.fs_read")
	require.ErrorAs(t, err, &unknown, "the reference is the source's name for the tool")
	require.Contains(t, unknown.Known, "files.read")

	_, err = new(tool.Registry).Lookup(t.Context(), "x")
	require.EqualError(t, err, `unknown tool "x" (there are no tools)`)
}

func TestLookupFindsWhatResolveBound(t *testing.T) {
	r, _ := registry(t)
	for _, ref := range []string{"calculator", "files.read", "files.a.b"} {
		got, err := r.Lookup(t.Context(), ref)
		require.NoError(t, err)
		require.NotNil(t, got)
	}
	_, err := r.Lookup(t.Context(), "down.x")
	require.EqualError(t, err, `the tools of source "down" cannot be listed: connection refused`)
	require.False(t, errors.As(err, new(*tool.UnknownToolError)), "a source that is down may have the tool")
}

func TestRegistryRefusesDuplicates(t *testing.T) {
	r, files := registry(t)
	require.ErrorContains(t, r.Add(stub{name: "calculator"}), "already a tool")
	require.ErrorContains(t, r.AddSource("files", files), "already a source")
	require.Error(t, r.AddSource("a.b", files))
	require.Error(t, r.AddSource("x", nil))
	require.Error(t, r.Add(nil))
	require.Error(t, r.Add(stub{name: ""}))
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	r := new(tool.Registry)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			_ = r.Add(stub{name: fmt.Sprint("t", i)})
			_, _ = r.Resolve(context.Background(), r.Names())
			_, _ = r.Lookup(context.Background(), "t1")
		})
	}
	wg.Wait()
	require.Len(t, r.Names(), 16)
}
