package presence

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tick is the step of time of a random life.
const tick = 10 * time.Millisecond

// life is a random life of a task queue: its workers send heartbeats and lists, freeze, are cut off, die and are started again, while calls
// begin. The parts of the workers that decide are real. Temporal, the network and the clocks are not.
type life struct {
	t      *testing.T
	random *rand.Rand
	now    time.Duration
	// rows are the heartbeats that Temporal has accepted, and at when it has accepted them, for each worker.
	rows  map[string]row
	at    map[string][]time.Duration
	all   []*process
	calls []*given
	later []delayed
	// refuses says that Temporal accepts no heartbeats.
	refuses bool
	begun   int
}

// delayed is what happens at Temporal when a request arrives.
type delayed struct {
	at time.Duration
	do func()
}

// given is a call that Temporal has given to a worker.
type given struct {
	to       *process
	returned time.Duration // 0 means not
	contact  time.Duration // 0 means that the worker has not seen the call
	looking  bool
	over     bool
}

type process struct {
	key, identity string
	skew          time.Duration // of its clock
	watch         *watch
	gate          gate
	dead, cut     bool
	died          time.Duration
	frozen        time.Duration // until then
	busy          bool          // with a request
	answered      time.Duration // when the answer is there
	then          func()
	next, list    time.Duration
	beats         int
	sent          string        // the last heartbeat that was accepted
	asked         time.Duration // for the last list that counts
	search        []string
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (l *life) upTo(d time.Duration) time.Duration { return time.Duration(l.random.Int64N(int64(d))) }

func (l *life) begin(identity string) *process {
	key := fmt.Sprint("key", len(l.all))
	shared := identity != ""
	if !shared {
		identity = "of " + key
	}
	p := &process{key: key, identity: identity, gate: gate{shared: shared}, watch: newWatch(key), skew: l.upTo(time.Hour) - 30*time.Minute, next: l.now}
	l.all = append(l.all, p)
	return p
}

// request sends a request: it arrives, and the answer is there later, unless the worker is cut off.
func (l *life) request(p *process, arrive func(), answer func()) {
	there, back := l.upTo(50*time.Millisecond), l.upTo(50*time.Millisecond)
	if l.random.IntN(20) == 0 {
		there = l.upTo(requestTimeout / 2)
	}
	p.busy, p.answered, p.then = true, l.now+there+back, answer
	if p.cut {
		p.answered, p.then = l.now+requestTimeout, func() {}
		if l.random.IntN(4) > 0 {
			return
		} // otherwise only the answer is lost
	}
	l.later = append(l.later, delayed{l.now + there, arrive})
}

func (l *life) beat(p *process) {
	p.beats++
	sent := l.now
	r := row{key: p.key, identity: p.identity, beat: fmt.Sprint(start.Add(l.now + p.skew).Add(time.Duration(p.beats)).UnixNano())}
	accepted := false
	p.gate.try(start.Add(sent))
	l.request(p, func() {
		if accepted = !l.refuses; accepted {
			l.rows[p.key] = r
			l.at[p.key] = append(l.at[p.key], l.now)
		}
	}, func() {
		if !accepted {
			return
		}
		p.gate.accepted(start.Add(sent), start.Add(l.now))
		p.sent = r.beat
	})
}

func (l *life) lists(p *process) {
	asked, own := l.now, p.sent
	var rows []row
	l.request(p, func() {
		for _, r := range l.rows {
			rows = append(rows, r)
		}
	}, func() {
		if p.watch.see(list{asked: asked, got: l.now, beat: own, rows: rows}) {
			p.asked = asked
		}
		p.list = l.now + p.watch.pause()
		p.search = append(p.search, p.watch.due(l.now)...)
	})
}

// run lets a worker do what it does next.
func (l *life) run(p *process) {
	if p.dead || l.now < p.frozen {
		return
	}
	if p.busy && l.now >= p.answered {
		p.busy = false
		p.then()
	}
	if !p.busy && l.now >= p.next {
		p.next = l.now + beatInterval
		l.beat(p)
	}
	if !p.busy && l.now >= p.list && p.sent != "" {
		p.list = l.now + often
		l.lists(p)
	}
	if len(p.search) > 0 && l.random.IntN(4) == 0 {
		l.give(p, p.search[0])
		p.watch.searched(p.search[:1], l.now)
		p.search = p.search[1:]
	}
	for _, c := range l.calls {
		if c.to == p && !c.over && !c.looking {
			l.advance(p, c)
		}
	}
}

// give returns the calls of an identity, each with a request of its own.
func (l *life) give(p *process, identity string) {
	for _, c := range l.calls {
		if c.over || c.returned > 0 || c.to.identity != identity || !p.watch.gone(identity) || l.now-p.asked >= decideWithin || p.cut {
			continue
		}
		at := l.now + l.upTo(requestTimeout-tick)
		l.later = append(l.later, delayed{at, func() {
			c.returned = l.now
			beats := l.at[c.to.key]
			gap, before := time.Duration(0), time.Duration(0)
			for _, accepted := range append(beats, l.now) {
				gap, before = max(gap, accepted-before), accepted
			}
			require.GreaterOrEqual(l.t, gap, lostAfter, "%s returns a call of %s, whose heartbeats came", p.key, c.to.key)
		}})
	}
}

// advance brings a call on to its beginning.
func (l *life) advance(p *process, c *given) {
	if c.contact == 0 {
		c.contact = l.now
	}
	switch p.gate.next(start.Add(l.now), start.Add(c.contact)) {
	case begin:
		c.over = true
		l.begun++
		require.Zero(l.t, c.returned, "%s begins a call that was returned at %v", p.key, c.returned)
	case beat:
		if !p.busy {
			l.beat(p)
		}
	case wait:
	case look:
		c.looking = true
		sent := l.now
		l.later = append(l.later, delayed{l.now + l.upTo(100*time.Millisecond), func() {
			c.looking, c.contact = false, sent
			c.over = c.over || c.returned > 0
		}})
	}
}

func (l *life) pass(d time.Duration) {
	for end := l.now + d; l.now < end; l.now += tick {
		arrived := l.later
		l.later = nil
		for _, r := range arrived {
			if r.at <= l.now {
				r.do()
			} else {
				l.later = append(l.later, r)
			}
		}
		for _, i := range l.random.Perm(len(l.all)) {
			l.run(l.all[i])
		}
	}
}

func (l *life) disturb() {
	p := l.all[l.random.IntN(len(l.all))]
	switch l.random.IntN(8) {
	case 0:
		p.dead = true
		l.begin([]string{"", p.identity}[l.random.IntN(2)])
	case 1, 2:
		p.frozen = l.now + l.upTo(8*time.Second)
	case 3:
		p.cut = !p.cut
	case 4:
		l.refuses = !l.refuses
	case 5: // the server forgets all workers
		l.rows = map[string]row{}
	}
	if !p.dead {
		l.calls = append(l.calls, &given{to: p})
	}
}

func newLife(t *testing.T, seed uint64, workers int) *life {
	l := &life{t: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Minute, rows: map[string]row{}, at: map[string][]time.Duration{}}
	for range workers {
		l.begin("")
	}
	l.pass(time.Second)
	return l
}

// A call is returned only if its worker's heartbeats have stopped for [lostAfter], and a call that was returned does not begin on that worker
// afterwards, whatever happens to workers, network and server. The clocks differ by up to half an hour.
func TestOnlyCallsOfLostWorkersAreReturned(t *testing.T) {
	t.Parallel()
	begun, returned := 0, 0
	for seed := range uint64(200) {
		l := newLife(t, seed, 2+int(seed%5))
		for range 40 {
			l.disturb()
			l.pass(l.upTo(1500 * time.Millisecond))
		}
		begun += l.begun
		for _, c := range l.calls {
			if c.returned > 0 {
				returned++
			}
		}
	}
	require.Greater(t, begun, 1000)
	require.Greater(t, returned, 50)
}

// If a worker dies, its calls are returned in time, also after the death of the watchers whose turn it was.
func TestCallsOfADeadWorkerAreReturned(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		workers := 2 + int(seed%6)
		l := newLife(t, seed, workers)
		l.pass(4 * time.Second)
		dying := 1 + l.random.IntN(workers-1)
		for i := range dying {
			c := &given{to: l.all[i], contact: 1, looking: true} // it has begun, so its worker does nothing any more
			l.calls = append(l.calls, c)
			l.all[i].dead, l.all[i].died = true, l.now
		}
		l.pass(lostAfter + often + turn*(watchers+1) + seldom + requestTimeout)
		for i, c := range l.calls {
			require.NotZero(t, c.returned, "seed %d: the call of worker %d of %d, of which %d died", seed, i, workers, dying)
		}
	}
}

// Temporal still lists workers that have died. A worker that begins to watch among them does not leave the watching to them.
func TestNewWorkerDoesNotRelyOnDeadOnes(t *testing.T) {
	t.Parallel()
	for self := range 20 {
		w := newWatch(fmt.Sprint("k", self))
		rows := fleet(20)
		for n := range 2 * int(lostAfter/often) {
			rows[self].beat = fmt.Sprint("beat ", n)
			at := time.Duration(n) * often
			require.True(t, w.see(list{asked: at, got: at, beat: rows[self].beat, rows: rows}))
			require.Equal(t, often, w.pause())
		}
	}
}

// fleet is a list with this many workers, each with an identity of its own.
func fleet(n int) (rows []row) {
	for i := range n {
		rows = append(rows, row{key: fmt.Sprint("k", i), identity: fmt.Sprint("i", i), beat: "1"})
	}
	return rows
}

// One worker looks for the calls of a lost one at first, and the others only later. Three list the others often.
func TestOneWorkerLooksForLostCallsFirst(t *testing.T) {
	t.Parallel()
	before, after := fleet(20), fleet(20)
	for i := range after[1:] {
		after[i+1].beat = "2"
	}
	first, busy := 0, 0
	for _, self := range before[1:] {
		w := newWatch(self.key)
		require.True(t, w.see(list{beat: "1", rows: before}))
		require.True(t, w.see(list{asked: lostAfter, got: lostAfter, beat: "2", rows: after}))
		if len(w.due(lostAfter)) > 0 {
			first++
		} else {
			require.Equal(t, []string{"i0"}, w.due(lostAfter+turn*watchers))
		}
		if w.pause() == often {
			busy++
		}
	}
	require.Equal(t, 1, first)
	require.Equal(t, watchers, busy)
}

// The calls of an identity that a living worker has are not returned, because Temporal does not tell which of the two has a call.
func TestSharedIdentityIsNotLost(t *testing.T) {
	t.Parallel()
	w := newWatch("k0")
	rows := fleet(3)
	rows[1].identity = rows[2].identity
	require.True(t, w.see(list{beat: "1", rows: rows}))
	rows[0].beat, rows[2].beat = "2", "2"
	lost := list{asked: lostAfter, got: lostAfter, beat: "2", rows: rows}
	require.True(t, w.see(lost))
	require.Empty(t, w.due(lostAfter+turn))
	rows[2].ended = true
	require.True(t, w.see(lost))
	require.Equal(t, []string{"i2"}, w.due(lostAfter+turn))
}

// A list without the last heartbeat of the worker that has asked for it may lack those of others, too. So it shows nobody as lost.
func TestListWithoutTheOwnHeartbeatDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWatch("k0")
	rows := fleet(2)
	require.True(t, w.see(list{beat: "1", rows: rows}))
	require.False(t, w.see(list{asked: lostAfter, got: lostAfter, beat: "2", rows: rows}))
	require.Empty(t, w.due(lostAfter+turn))
	rows[0].beat = "2"
	require.True(t, w.see(list{asked: lostAfter, got: lostAfter, beat: "2", rows: rows}))
	require.Equal(t, []string{"i1"}, w.due(lostAfter+turn))
}
