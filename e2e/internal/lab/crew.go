package lab

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// FaultyWorker builds a worker program that can kill itself at the points of package fault. It builds the program only once,
// and returns its name for [world.Binary].
var FaultyWorker = sync.OnceValues(func() (string, error) {
	return filepath.Join("faults", "worker"), world.Build("faults", "-tags", "faults", "./cmd/worker")
})

// workerDied is the name of the disturbance that a [Crew] records when a worker was killed.
const workerDied = "worker killed"

// Crew runs a fixed number of worker processes. If a worker is killed, the crew starts another one in its place, as a process manager
// does in production.
type Crew struct {
	w       *world.World
	program string
	env     []string
	ledger  *Ledger
	// broken is called if a worker has ended by itself. This worker is not replaced. If broken is nil, the worker is replaced,
	// because workers end by themselves while the server is down.
	broken func(error)
	wait   sync.WaitGroup

	mu      sync.Mutex
	members []*world.Process // the newest worker in each place
	all     []*world.Process
	deaths  int
	ended   bool
}

// NewCrew starts a [Crew] and ends it at the end of the test. The parameter size is the number of workers, and program is the
// name of their program for [world.Binary]. The strings in env are added to the environment of each worker. The crew records
// the deaths of workers in the ledger. The parameter broken is the field of [Crew].
func NewCrew(w *world.World, size int, ledger *Ledger, broken func(error), program string, env ...string) *Crew {
	c := &Crew{w: w, program: program, env: env, ledger: ledger, broken: broken, members: make([]*world.Process, size)}
	w.T.Cleanup(c.end)
	for place := range c.members {
		c.wait.Go(func() { c.keep(place) })
	}
	return c
}

// keep starts a worker in the given place, which is an index of c.members, and replaces the worker when it ends. It returns
// after [Crew.end], or if a worker must not be replaced.
func (c *Crew) keep(place int) {
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
		if c.broken != nil && code >= 0 { // no signal has killed it
			c.broken(fmt.Errorf("a worker ended by itself, with exit code %d", code))
			return
		}
		if code >= 0 && !ended { // the server may be down
			<-time.After(200 * time.Millisecond)
		} else if !ended {
			c.ledger.disturbed("", workerDied, time.Now())
		}
	}
}

func (c *Crew) replace(place int) *world.Process {
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

// Kill kills the worker in the given place and waits until it is dead. If there is no worker yet, Kill does nothing.
func (c *Crew) Kill(place int) {
	c.mu.Lock()
	p := c.members[place]
	c.mu.Unlock()
	if p != nil {
		p.Kill()
	}
}

// Died returns how many workers have ended, either killed or by themselves. It does not count those that [Crew.end] has killed.
func (c *Crew) Died() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaths
}

// end kills all workers and does not replace them. If the test has failed, end logs what the workers have printed.
func (c *Crew) end() {
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
