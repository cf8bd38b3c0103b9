package runs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// The list of IDs and times is small enough for one payload together with a page of messages. It has each ID once, and lacks only
// the newest IDs.
func TestOrderOfMessagesIsBounded(t *testing.T) {
	var messages []agent.QueuedMessage
	for i := range 20_000 {
		m := agent.QueuedMessage{ID: fmt.Sprintf("%036d", i), Time: 1_700_000_000_000 + int64(i)}
		messages = append(messages, m, m)
	}
	order, times := inOrder(messages)
	size := payload.Size(order) + payload.Size(times)
	require.LessOrEqual(t, size, maxOrderBytes+4)
	require.Greater(t, size, maxOrderBytes*9/10)
	require.Len(t, times, len(order))
	for i, id := range order {
		require.Equal(t, fmt.Sprintf("%036d", i), id)
	}
}

// The places are small enough for one payload together with a page of messages and the order. They lack only the last ones, and those that the
// searching run does not need.
func TestPlacesOfMessagesAreBounded(t *testing.T) {
	places, messages := map[string]agent.Place{}, []string{"unknown"}
	for i := range 20_000 {
		id := fmt.Sprint("m", i)
		places[id] = agent.Place{At: i, Behind: "model-0123456789abcdef0123456789abcdef"}
		messages = append(messages, id)
	}
	places["not asked for"] = agent.Place{At: 100}
	kept := needed(places, messages, 100)
	require.LessOrEqual(t, payload.Size(kept), maxPlacesBytes+2)
	require.Greater(t, payload.Size(kept), maxPlacesBytes*9/10)
	for i := range len(kept) {
		require.Contains(t, kept, fmt.Sprint("m", 100+i))
	}
}

// A search brings the decisions that another run applied. It brings neither one that the run refused nor one of the run that was reset.
func TestFoundDecisionsWereApplied(t *testing.T) {
	dc := converter.GetDefaultDataConverter()
	found := &runMessages{searches: map[int64]bool{}, reads: map[int64]bool{}, deciding: map[int64]agent.Decision{}}
	add := func(event *historypb.HistoryEvent) { require.NoError(t, found.add(event, dc)) }
	decide := func(id int64, key agent.Key, outcome *updatepb.Outcome) {
		args, err := dc.ToPayloads(agent.Decision{Key: key, Approve: true, Time: 1})
		require.NoError(t, err)
		add(&historypb.HistoryEvent{EventId: id, EventTime: timestamppb.New(time.UnixMilli(id)), Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
			WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
				AcceptedRequest: &updatepb.Request{Input: &updatepb.Input{Name: protocol.DecideUpdate, Args: args}},
			},
		}})
		add(&historypb.HistoryEvent{EventId: id + 1, Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateCompletedEventAttributes{
			WorkflowExecutionUpdateCompletedEventAttributes: &historypb.WorkflowExecutionUpdateCompletedEventAttributes{AcceptedEventId: id, Outcome: outcome},
		}})
	}
	applied := &updatepb.Outcome{Value: &updatepb.Outcome_Success{}}
	decide(10, "tool-1", applied)
	add(&historypb.HistoryEvent{EventId: 15, Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
		WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{BaseRunId: "base"},
	}})
	decide(20, "tool-2", &updatepb.Outcome{Value: &updatepb.Outcome_Failure{Failure: &failurepb.Failure{Message: "too late"}}})
	decide(30, "tool-3", applied)
	found.unsearched = false // the search has ended
	decide(40, "tool-4", applied)
	found.deciding[50] = agent.Decision{Key: "tool-5", Approve: true} // the run has ended before it told the sender
	found.close()
	require.Equal(t, []agent.Decision{
		{Key: "tool-3", Approve: true, Time: 30, Early: true}, {Key: "tool-4", Approve: true, Time: 40}, {Key: "tool-5", Approve: true},
	}, found.sent.decisions)
}

// The pages of a search together have each message and each decision once. A call has one decision of each kind.
func TestPagesHaveEachMessageAndDecisionOnce(t *testing.T) {
	var all received
	want := map[string]bool{}
	for i := range 40 {
		key := agent.Key(fmt.Sprintf("tool-%d", i))
		all.messages = append(all.messages, agent.QueuedMessage{ID: fmt.Sprint("m", i), Text: strings.Repeat("x", i*5000)}, agent.QueuedMessage{ID: "m0"})
		given := &agent.GivenResult{Content: strings.Repeat("x", i*5000)}
		all.decisions = append(all.decisions, agent.Decision{Key: key, Approve: true}, agent.Decision{Key: key}, agent.Decision{Key: key, Result: given})
		want[fmt.Sprint("m", i)], want[string(key)+" true"], want[string(key)+" given"] = true, true, true
	}
	got, pages := map[string]bool{}, 0
	for skip, more := 0, true; more; pages++ {
		found := page(all, skip)
		for _, m := range found.Messages {
			require.False(t, got[m.ID])
			got[m.ID] = true
		}
		for _, d := range found.Decisions {
			id := fmt.Sprint(d.Key, " ", d.Approve)
			if d.Result != nil {
				id = string(d.Key) + " given"
			}
			require.False(t, got[id])
			got[id] = true
		}
		skip, more = skip+len(found.Messages)+len(found.Decisions), found.More
		require.Less(t, payload.Size(found), maxFoundBytes+10_000)
	}
	require.Equal(t, want, got)
	require.Greater(t, pages, 5)
}

// Messages are ordered by the time at which a run first took them. Messages of deleted runs, with unknown times, come first.
func TestMessagesStandInTheOrderOfTheirTimes(t *testing.T) {
	order, times := inOrder([]agent.QueuedMessage{
		{ID: "late", Time: 3}, {ID: "redelivered"}, {ID: "gone"}, {ID: "early", Time: 1}, {ID: "late", Time: 4}, {ID: "redelivered", Time: 2},
	})
	require.Equal(t, []string{"gone", "early", "redelivered", "late"}, order)
	require.Equal(t, []int64{0, 1, 2, 3}, times)
}
