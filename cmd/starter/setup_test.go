package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
)

// Temporal Cloud refuses new search attributes. The error names the command that Cloud has for them, with all that it needs.
func TestSetupNamesTheCommandOfTemporalCloud(t *testing.T) {
	refused := errors.New("register the search attributes: Request unauthorized.")
	cloud := &session.Flags{Address: "shop.a1b2c.tmprl.cloud:7233", Namespace: "shop.a1b2c"}
	err := setupError(refused, cloud)
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "`tcld namespace search-attributes add --namespace shop.a1b2c --search-attribute ReagentAgent=Keyword --search-attribute ReagentCost=Double "+
		"--search-attribute ReagentReason=Keyword --search-attribute ReagentStatus=Keyword --search-attribute ReagentWaitingFor=Keyword`")
	require.Equal(t, exit.Unreachable, exit.CodeOf(setupError(client.ErrNoServer, cloud)))
	require.Equal(t, refused, setupError(refused, &session.Flags{Address: "127.0.0.1:7233", Namespace: "default"}))
}
