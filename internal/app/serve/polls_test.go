package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A worker polls if no kind of poll fails. After a failure, an open poll counts only when it has been open for some time, because a server
// refuses a poll at once.
func TestPollsThatFailAreNoticed(t *testing.T) {
	p, now := newPolls(), time.Now()
	workflows, activities := pollKind{queue: "q"}, pollKind{activities: true, queue: "q"}
	require.False(t, p.working(now), "there was no poll yet")
	first := p.begin(workflows, now)
	require.False(t, p.working(now), "there was no poll for activities yet")
	second := p.begin(activities, now)
	require.True(t, p.working(now))
	first(false, false)
	second(false, false)
	require.True(t, p.working(now), "all slots are in use")

	p.begin(activities, now)(true, false)
	require.False(t, p.working(now))
	again := p.begin(activities, now)
	require.False(t, p.working(now), "it may be refused, too")
	require.True(t, p.working(now.Add(settled)))
	again(true, false)
	p.begin(activities, now)(false, false)
	require.True(t, p.working(now))

	model := pollKind{activities: true, queue: "q.model"}
	p.begin(model, now)(false, false)
	p.begin(model, now)(true, true)
	require.True(t, p.working(now), "this process has stopped the poll")
	p.begin(model, now)(true, false)
	require.False(t, p.working(now), "the worker of a model does not work")
}
