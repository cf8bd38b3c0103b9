package agent_test

import (
	"flag"
	"testing"
)

var (
	lives = flag.Int("lives", 1000, "how many lives TestWhateverHappens tries")
	first = flag.Uint64("first", 0, "the seed of the first life that TestWhateverHappens tries")
	only  = flag.Int64("seed", -1, "the one life that TestWhateverHappens tries")
)

// The rules in law_test.go hold for any events, in any order and any number. If an agent breaks a rule, the test prints
// all of its events. `make properties` runs 100,000 agents.
func TestWhateverHappens(t *testing.T) {
	if *only >= 0 {
		try(t, uint64(*only))
		return
	}
	for i := range uint64(*lives) {
		if try(t, *first+i); t.Failed() {
			return
		}
	}
	t.Logf("%d lives kept the laws", *lives)
}

func try(t *testing.T, seed uint64) {
	l := newLife(seed)
	defer func() {
		if found := recover(); found != nil {
			t.Errorf("seed %d: %v\nTo see it again: go test ./agent -run %s -seed %d\n\n%s", seed, found, t.Name(), seed, l.story())
		}
	}()
	l.live(60)
}
