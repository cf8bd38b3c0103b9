package faults_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// faultyWorker builds the worker that dies at armed points, once, where a test needs it, and
// returns its name for [world.Binary].
var faultyWorker = sync.OnceValues(func() (string, error) {
	name := filepath.Join("faults", "worker")
	return name, world.Build(world.Binary(name), "-tags", "faults", "./cmd/worker")
})

// workerDied is the trouble that a crew notes.
const workerDied = "worker killed"

// crew is the worker processes of a world. One that is killed is replaced by another, as whatever runs
// workers would do.
type crew struct {
	w       *world.World
	program string
	env     []string
	ledger  *ledger
	// broken is told of a worker that ended by itself, which is not replaced then; nil where one
	// may, for want of a server.
	broken func(error)
	wait   sync.WaitGroup

	mu      sync.Mutex
	members []*world.Process // by their places
	all     []*world.Process
	deaths  int
	ended   bool
}

// newCrew starts so many workers, which have env besides the test's environment.
func newCrew(w *world.World, size int, ledger *ledger, broken func(error), program string, env ...string) *crew {
	c := &crew{w: w, program: program, env: env, ledger: ledger, broken: broken, members: make([]*world.Process, size)}
	w.T.Cleanup(c.end)
	for place := range c.members {
		c.wait.Go(func() { c.keep(place) })
	}
	return c
}

// keep has a worker in a place until the crew is ended.
func (c *crew) keep(place int) {
	for {
		p := c.replace(place)
		if p == nil {
			return
		}
		p.Wait()
		c.mu.Lock()
		ended := c.ended
		if !ended {
			c.deaths++
		}
		c.mu.Unlock()
		code := p.Cmd.ProcessState.ExitCode()
		if c.broken != nil && code >= 0 { // not by a signal
			c.broken(fmt.Errorf("a worker ended by itself, with exit code %d", code))
			return
		}
		if code >= 0 && !ended { // for want of a server
			<-time.After(200 * time.Millisecond)
		} else if !ended {
			c.ledger.disturbed("", workerDied, time.Now())
		}
	}
}

func (c *crew) replace(place int) *world.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	cmd := c.w.Command(c.program, "--config", c.w.Config)
	cmd.Env = append(cmd.Env, c.env...)
	p, err := world.StartProcess(cmd)
	if err != nil {
		c.w.T.Errorf("start a worker: %v", err)
		return nil
	}
	c.members[place] = p
	c.all = append(c.all, p)
	return p
}

// kill kills the worker in a place, if one is there, and returns when it is dead.
func (c *crew) kill(place int) {
	c.mu.Lock()
	p := c.members[place]
	c.mu.Unlock()
	if p != nil {
		p.Kill()
	}
}

// died returns how many workers have died.
func (c *crew) died() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaths
}

// end kills all workers for good.
func (c *crew) end() {
	c.mu.Lock()
	c.ended = true
	members := c.members
	c.mu.Unlock()
	for _, p := range members {
		if p != nil {
			p.Kill()
		}
	}
	c.wait.Wait()
	if c.w.T.Failed() {
		for i, p := range c.all {
			c.w.T.Logf("worker %d of %d, begun and ended by %s:\n%s", i+1, len(c.all), time.Now().Format(time.TimeOnly), p.Output())
		}
	}
}
