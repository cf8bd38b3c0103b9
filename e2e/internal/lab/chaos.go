package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/collector"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/testkit/statelog"
	"github.com/reagent-dev/reagent/llm"
)

// chaosTime is the time in which all agents of one seed of the usual size must complete. chaosAgentTime is added for each further agent.
const (
	chaosTime      = 4 * time.Minute
	chaosAgentTime = 5 * time.Second
)

// chaos holds everything that TestChaos needs and records for one seed.
type chaos struct {
	*surroundings

	size     int             // the number of agents
	storm    time.Duration   // no disturbance begins after this time
	troubles int             // limits how often one agent is disturbed
	without  map[string]bool // the names of the disturbances to leave out
	began    time.Time
	proxy    *world.Proxy // it is between the workers and the Temporal server
	all      []cast
	// collector gets the spans and metrics of the workers; nil if they send none.
	collector *collector.Collector

	networking sync.Mutex     // held while the network is disturbed
	later      sync.WaitGroup // counts the goroutines of disturbances
	troubled   map[string]int // how often each agent was disturbed, by agent ID

	mu      sync.Mutex
	done    map[string]int  // how often each disturbance succeeded, by name
	started []string        // the IDs of the agents that were started
	ended   map[string]bool // the agents that have completed or failed once
	// forgotten has the IDs of the agents of which runs were deleted, and of the agents above them. kept has the deleted runs,
	// by run ID.
	forgotten map[string]bool
	kept      map[string]deleted
}

// hearTime is the time in which an agent must be seen to have ended, when all disturbances are over and it has completed before.
const hearTime = 30 * time.Second

// chaosSize and chaosStorm are the usual number of agents of a seed, and the usual time in which disturbances begin.
const (
	chaosSize  = 12
	chaosStorm = 15 * time.Second
)

// chaosScale reads the number of agents of a seed, and the time in which disturbances begin, from the environment.
func chaosScale(t testing.TB) (size int, storm time.Duration) {
	size, storm = chaosSize, chaosStorm
	var err error
	if text := os.Getenv("REAGENT_CHAOS_AGENTS"); text != "" {
		size, err = strconv.Atoi(text)
		require.NoError(t, err, "REAGENT_CHAOS_AGENTS")
	}
	if text := os.Getenv("REAGENT_CHAOS_STORM"); text != "" {
		storm, err = time.ParseDuration(text)
		require.NoError(t, err, "REAGENT_CHAOS_STORM")
	}
	return size, storm
}

// RunChaos lets the agents of one seed work until the storm is over and they have ended. It returns what it finds in their transcripts and
// histories.
func RunChaos(t *testing.T, seed uint64) *Verdict {
	size, storm := chaosScale(t)
	c := &chaos{
		surroundings: newSurroundings(t, seed), size: size, storm: storm, without: map[string]bool{}, began: time.Now(),
		troubles: maxTroubles * max(1, int(storm/chaosStorm)),
		done:     map[string]int{}, troubled: map[string]int{}, ended: map[string]bool{}, forgotten: map[string]bool{}, kept: map[string]deleted{},
	}
	for name := range strings.SplitSeq(os.Getenv("REAGENT_CHAOS_WITHOUT"), ",") {
		c.without[name] = true
	}
	c.people.choose = c.temper
	takeTime := c.takeTime()
	c.begin(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		text, step := place(req)
		c.ledger.asked(req, fmt.Sprint(text, " ", step))
		if strings.HasPrefix(text, "nap ") {
			_ = pause(ctx, napTime)
		}
		from, reply := time.Now(), chaosReply(req)
		if err := takeTime(ctx, ""); err != nil {
			return llm.Reply{}, err
		}
		c.ledger.answered(req.Key, reply.Usage, from)
		return reply, nil
	}, func(ctx context.Context, e world.Effect) (string, error) {
		if err := takeTime(ctx, ""); err != nil {
			return "", err
		}
		c.ledger.done(e)
		return "did " + e.Tool, takeTime(ctx, "")
	}, chaosTeam+fmt.Sprintf(outside, c.people.url, "waits, ended"))
	c.proxy = world.NewProxy(t, c.own.Address())
	c.Address = c.proxy.Address()
	c.crew = c.workers(3, c.listen()...)
	c.all = c.castAll()

	ctx, cancel := context.WithTimeout(t.Context(), chaosTime+storm-chaosStorm+time.Duration(max(0, size-chaosSize))*chaosAgentTime)
	defer cancel()
	var people sync.WaitGroup
	for range 2 {
		people.Go(func() { c.decide(ctx) })
	}
	defer people.Wait()
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var plays errgroup.Group
		plays.SetLimit(max(6, c.size/2))
		for _, a := range c.all {
			plays.Go(func() error { return c.play(ctx, a) })
		}
		done <- plays.Wait()
	}()
	require.NoError(t, c.disturbUntil(ctx, done))
	c.calm()
	for _, a := range c.all {
		require.NoError(t, c.end(ctx, a.id))
		// If the worker that notifies the hook dies, another one does so later.
		require.NoError(t, until(ctx, "the hook is notified of the end of "+a.id, func(context.Context) (bool, error) { return c.people.knowsEnd(a.id), nil }))
	}
	worked := time.Since(c.began)
	v := c.judge(ctx)
	c.judgeTelemetry(v)
	t.Logf("seed %d, %v of work, %v of judging\n%v%v", seed, worked.Round(time.Second), (time.Since(c.began) - worked).Round(time.Second), c.counts(), v.Tally)
	for _, a := range c.all {
		if slices.ContainsFunc(v.Problems, func(text string) bool { return strings.HasPrefix(text, a.id+":") || strings.HasPrefix(text, a.id+"/") }) {
			c.tell(a.id)
		}
	}
	return v
}

// resetsDone is the name under which [chaos.count] counts the resets, of any run of any agent.
const resetsDone = "resets in all"

// count counts a disturbance that has succeeded.
func (c *chaos) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[what]++
}

// counts returns two tables: how often each disturbance succeeded, and how many decisions of each kind the agents have accepted.
func (c *chaos) counts() string {
	c.mu.Lock()
	counts := maps.Clone(c.done)
	c.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%6d  disturbances: %s\n", counts[what], what)
	}
	decided := c.people.rulingCounts()
	for _, what := range slices.Sorted(maps.Keys(decided)) {
		fmt.Fprintf(&b, "%6d  decisions: %s\n", decided[what], what)
	}
	fmt.Fprintf(&b, "%6d  agents\n%6d  agents with decisions of people\n", c.size, len(c.people.persons()))
	return b.String()
}

// judge compares the transcripts and histories of all agents with the model requests and tool calls in the ledger. It returns
// the problems that it finds. It also requires that a replay of the histories leads to the recorded states.
func (c *chaos) judge(ctx context.Context) *Verdict {
	v := newVerdict(c.ledger)
	var ids, roots []string
	for _, a := range c.all {
		roots = append(roots, a.id)
		ids = append(ids, c.hear(ctx, v, a.id, &a)...)
	}
	// If an agent has not ended, ctx is over. The runs have to be read even then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	live, err := readStates(c.dir + "/" + statelog.FileName)
	require.NoError(c.T, err)
	kept := map[string]*historypb.History{}
	spans := map[string]span{}
	for run, d := range c.kept {
		kept[run] = d.history
		addSpans(spans, d.id, d.history)
	}
	c.readRuns(ctx, v, c.withLost(ctx, ids, roots), spans)
	sum := compareStates(c.T, c.Temporal, live, ids, kept)
	c.T.Logf("%d states of %d runs are those of a replay", sum.tasks, sum.runs)
	for key, s := range spans {
		v.owners[key] = s.agent
		v.attempts = max(v.attempts, int(s.attempts))
	}
	for key, all := range v.seen {
		v.effects += len(all)
		switch n := len(all); {
		case v.owners[key] == "":
			v.problemf("%s %s took effect, and nobody asked for it: %s", all[0].Tool, all[0].Arguments, key)
		case all[0].Tool != "read" && n > 1:
			v.duplicates += n - 1
			v.problemf("%s: %s %s took effect %d times: %s", v.owners[key], all[0].Tool, all[0].Arguments, n, key)
		case all[0].Tool == "read":
			v.repeatedReads += n - 1
		}
	}
	c.judgeTrails(ctx, v, ids)
	c.judgePeople(v, spans)
	c.judgePlaces(v)
	owners := maps.Clone(v.owners)
	for key, id := range owners {
		if root, _, _ := strings.Cut(id, "/"); c.forgotten[root] {
			// The agent may ask again for something that only a deleted run knew.
			spans[key] = span{agent: id}
		}
	}
	var problems []string
	v.requests, v.Repeated, problems = c.ledger.repeats(owners, spans)
	for _, text := range problems {
		if root, _, _ := strings.Cut(text, "/"); !c.forgotten[strings.SplitN(root, ":", 2)[0]] {
			v.Problems = append(v.Problems, text)
		}
	}
	c.people.judge(v)
	v.Kills = c.ledger.disturbances()[workerDied]
	slices.Sort(v.Problems)
	return v
}

// hear waits until an agent has ended, and checks its status and its transcript. It does the same for the sub-agents below, and
// returns the IDs of all these agents. It adds the problems that it finds to v. The parameter a is nil for a sub-agent.
func (c *chaos) hear(ctx context.Context, v *Verdict, id string, a *cast) []string {
	v.agents++
	ids := []string{id}
	var snap reagent.Snapshot
	// One agent that cannot be read must not take the time of the others.
	one, cancel := context.WithTimeout(ctx, hearTime)
	defer cancel()
	err := until(one, id+" has ended", func(ctx context.Context) (bool, error) {
		var err error
		snap, err = c.Client.ShowRecorded(ctx, id)
		if a == nil && c.forgotten[id] && errors.Is(err, reagent.ErrNotFound) {
			return true, nil // the sub-agent had ended, and was deleted
		}
		if a == nil && (snap.Status == reagent.Terminated || snap.Status == reagent.TimedOut) {
			return true, nil // no agent waits for it, so nobody resumes it
		}
		return snap.Status.Ended(), err
	})
	if err != nil {
		v.problemf("%s: %v\n%s", id, err, c.waitsFor(id, snap))
		return ids
	}
	if a != nil && snap.Status != reagent.Completed || snap.Status == reagent.Failed {
		v.problemf("%s is %s: %s", id, snap.Status, snap.Failure)
	}
	messages := snap.Messages
	if snap.First > 0 {
		before, err := c.Client.Earlier(ctx, id, snap.First)
		if err != nil && !c.forgotten[id] {
			v.problemf("%s: earlier messages: %v", id, err)
		}
		messages = append(before, messages...)
	}
	lines, err := linesOf(messages)
	if err != nil && snap.Status != reagent.Terminated && snap.Status != reagent.TimedOut &&
		(snap.Status != reagent.Cancelled || !errors.Is(err, errOpenCalls)) {
		v.problemf("%s: %v", id, err)
	}
	for _, l := range lines {
		if tool, _, _ := strings.Cut(l.answers, " "); (tool == "pay" || tool == "wire") && l.content == "did "+tool && len(v.seen[l.key]) == 0 {
			v.problemf("%s: %s has a result and took no effect", id, l.answers)
		}
		if l.content == cutOff {
			v.interrupted++
		}
	}
	if a != nil {
		if !c.isForgotten(id) {
			c.people.hold(v, id, lines)
		}
		senders := append([][]reagent.Message{{{Text: a.first}}}, a.senders...)
		for _, m := range c.extras.accepted[a.id] {
			senders = append(senders, []reagent.Message{m})
		}
		v.hearMessages(lines, correspondence{
			id: a.id, senders: senders, perhaps: c.extras.perhaps,
			cut: c.forgotten[a.id] && snap.First > 0, interrupted: c.extras.wasInterrupted(a.id),
		})
		c.hearBackground(v, *a, lines, c.forgotten[id])
	}
	for _, child := range snap.Children {
		ids = append(ids, c.hear(ctx, v, child.ID, nil)...)
	}
	return ids
}

// runsOf returns the IDs of all runs of an agent. It tries again until Temporal answers, because the server may have been
// killed.
func (c *chaos) runsOf(ctx context.Context, id string) []string {
	for {
		attempt, cancel := context.WithTimeout(ctx, 15*time.Second)
		runs, err := history.Runs(attempt, c.Temporal, id)
		cancel()
		if err == nil {
			return runs
		}
		c.T.Logf("%s: %v", time.Since(c.began).Round(time.Second), err)
		require.NoError(c.T, ctx.Err())
	}
}

// readRuns reads every run of the agents with the given IDs, and adds a problem to v for each run that cannot be read. It adds
// the effects of the runs to the map spans.
func (c *chaos) readRuns(ctx context.Context, v *Verdict, ids []string, spans map[string]span) {
	options, err := dial.ClientOptions("", "")
	require.NoError(c.T, err)
	for _, id := range ids {
		for _, run := range c.runsOf(ctx, id) {
			h, err := historyOf(ctx, c.Temporal, id, run)
			if isGone(err) {
				continue
			}
			require.NoError(c.T, err)
			addSpans(spans, id, h)
			read, err := history.Read(ctx, c.Temporal, agent.RunRef{ID: id, RunID: run}, options.DataConverter)
			if err != nil && (!isGone(err) || !c.forgotten[id]) {
				v.problemf("%s: run %s cannot be read: %v", id, run, err)
			} else if err == nil && read.State == nil && len(h.GetEvents()) > 4 && !c.forgotten[id] {
				v.problemf("%s: run %s has no state", id, run)
			}
		}
	}
}
