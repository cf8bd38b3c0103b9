package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
)

// Temporal Cloud refuses new search attributes, and a server of one's own may. The error names the command with which an administrator
// registers those that are missing, with all that it needs.
func TestSetupNamesTheCommandOfAnAdministrator(t *testing.T) {
	refused := fmt.Errorf("register the search attributes: %w", serviceerror.NewPermissionDenied("Request unauthorized.", ""))
	cloud := &session.Flags{Address: "shop.a1b2c.tmprl.cloud:7233", Namespace: "shop.a1b2c"}
	missing := []string{"ReagentCost", "ReagentStatus"}
	err := setupError(refused, cloud, missing)
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "`tcld namespace search-attributes add --namespace shop.a1b2c --search-attribute ReagentCost=Double --search-attribute ReagentStatus=Keyword`")
	require.Equal(t, exit.Unreachable, exit.CodeOf(setupError(client.ErrNoServer, cloud, missing)))

	own := &session.Flags{Address: "10.0.0.1:7233", Namespace: "two words"}
	err = setupError(refused, own, missing)
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "`temporal operator search-attribute create --address 10.0.0.1:7233 --namespace 'two words' --name ReagentCost --type Double --name ReagentStatus --type Keyword`")
	other := errors.New("a wrong type")
	require.Equal(t, other, setupError(other, own, missing))
}
