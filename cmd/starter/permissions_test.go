package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

type permitting struct {
	all     []agent.Permission
	revoked []agent.Key
}

func (p *permitting) Permissions(context.Context, string) ([]agent.Permission, error) {
	return p.all, nil
}

func (p *permitting) Revoke(_ context.Context, _ string, key agent.Key) error {
	p.revoked = append(p.revoked, key)
	return nil
}

// A person who revokes permissions is told what was revoked, also if it was nothing.
func TestRevokeSaysWhatItRevoked(t *testing.T) {
	pay, post := agent.Permission{Key: "tool-11111111", Tool: "pay"}, agent.Permission{Key: "tool-22222222", Tool: "post"}
	for _, c := range []struct {
		all   []agent.Permission
		names []string
		said  string
		keys  []agent.Key
	}{
		{said: "Nothing was revoked: agent a has no permissions.\n"},
		{
			all: []agent.Permission{pay, post}, keys: []agent.Key{pay.Key, post.Key},
			said: "Revoked 11111111 pay of agent a\nRevoked 22222222 post of agent a\n",
		},
		{all: []agent.Permission{pay, post}, names: []string{"22222222"}, keys: []agent.Key{post.Key}, said: "Revoked 22222222 post of agent a\n"},
	} {
		p, out := &permitting{all: c.all}, new(bytes.Buffer)
		require.NoError(t, revoke(t.Context(), p, "a", c.names, false, nil, out))
		require.Equal(t, c.said, out.String())
		require.Equal(t, c.keys, p.revoked)

		p, out = &permitting{all: c.all}, new(bytes.Buffer)
		require.NoError(t, revoke(t.Context(), p, "a", c.names, true, out, nil))
		require.Equal(t, c.keys, p.revoked)
		var keys []agent.Key
		for line := range strings.Lines(out.String()) {
			var shown struct{ Key agent.Key }
			require.NoError(t, json.Unmarshal([]byte(line), &shown))
			keys = append(keys, shown.Key)
		}
		require.Equal(t, c.keys, keys)
	}
	err := revoke(t.Context(), &permitting{}, "a", []string{"33333333"}, true, new(bytes.Buffer), nil)
	require.EqualError(t, err, "agent \"a\" has no permission \"33333333\"; see `starter permissions a`")
	require.Equal(t, exit.WrongState, exit.CodeOf(err))
}

// The list names who gave a permission, also if a client of an earlier version has left the name empty.
func TestPermissionWithoutANameIsOfAnUnknownPerson(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, printPermissions(&out, "a", []agent.Permission{{Key: "tool-11111111", Tool: "pay"}, {Key: "tool-22222222", Tool: "post", Actor: agent.Actor{By: "ann"}}}, false))
	require.Contains(t, out.String(), "11111111  pay with any arguments, by an unknown person, ")
	require.Contains(t, out.String(), "22222222  post with any arguments, by ann, ")
}
