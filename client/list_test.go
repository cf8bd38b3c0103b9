package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The list filter quotes all values, so that no name or ID can change the meaning of the filter.
func TestListAsksTheServerForWhatItCanTell(t *testing.T) {
	require.Equal(t, `WorkflowType = 'Agent'`, ListOptions{Agent: "x"}.query())
	require.Equal(t, `WorkflowType = 'Agent' AND ParentWorkflowId IS NOT NULL AND ExecutionStatus = 'Running'`, ListOptions{Orphans: true}.query())
	require.Equal(t, `WorkflowType = 'Agent' AND ExecutionStatus IN ('Running', 'Failed') AND ParentWorkflowId = 'it\'s \\ here'`,
		ListOptions{Statuses: []Status{Waiting, Held, Failed}, Parent: `it's \ here`}.query())
	started := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	require.Equal(t, `WorkflowType = 'Agent' AND (ExecutionStatus != 'Running' OR StartTime < '2026-01-02T03:04:05.000000006Z')`,
		ListOptions{After: Entry{Started: started}}.query())
	require.Equal(t, `WorkflowType = 'Agent' AND ExecutionStatus != 'Running' AND CloseTime < '2026-01-02T03:04:06.000000006Z'`,
		ListOptions{After: Entry{Started: started, Ended: started.Add(time.Second)}}.query())
}

// Temporal selects agents by their status only if each of the statuses is in the search attributes. It never leaves out an agent without
// search attributes, or one that has ended.
func TestListSelectsByTheSearchAttributesOnlyWhatTheyCanTell(t *testing.T) {
	require.Equal(t, ` AND (ExecutionStatus != 'Running' OR ReagentStatus IS NULL OR ReagentStatus IN ('waiting', 'held'))`,
		ListOptions{Statuses: []Status{Waiting, Held, Failed}}.attributes())
	require.Empty(t, ListOptions{Statuses: []Status{Waiting, Running}}.attributes())
	require.Empty(t, ListOptions{Statuses: []Status{Failed}}.attributes())
	require.Empty(t, ListOptions{}.attributes())
	require.Equal(t, ` AND (ReagentWaitingFor IS NULL OR ReagentWaitingFor IN ('approval', 'answer', 'result'))`, ListOptions{outside: true}.attributes())
}
