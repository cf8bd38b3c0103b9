package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/reagent-dev/reagent/agent"
)

const (
	// censusAge is the age of a [Census] at which a reading of the metrics begins the next one.
	censusAge = 30 * time.Second
	// censusTimeout limits a census.
	censusTimeout = 10 * time.Second
)

// Census has the numbers of the agents of a namespace that have not ended. All workers of the namespace report the same.
type Census struct {
	Status  map[agent.Status]int64
	Waiting map[agent.WaitsFor]int64 // an agent may wait for somebody and work at the same time
}

// Census makes the metrics about all agents of a namespace with the function `count`. A reading of the metrics begins a census if the last one
// is 30 seconds old, and reports the last one: there is none if nobody reads. After an error, there are none of these metrics until a census
// succeeds. The function that Census returns ends the metrics.
//
// A reading does not wait for a census. The census itself is counted in the metrics of Temporal's SDK, and a new instrument waits for the
// reading.
func (t *Telemetry) Census(count func(context.Context) (Census, error)) (stop func()) {
	m := t.provider().Meter(scope, metric.WithSchemaURL(schemaURL))
	gauge := func(of Metric) metric.Int64ObservableGauge {
		return made(m.Int64ObservableGauge(of.Name, metric.WithUnit(of.Unit), metric.WithDescription(of.Description)))
	}
	status, waiting := gauge(agentsByStatus), gauge(agentsWaiting)
	ctx, cancel := context.WithCancel(context.Background())
	c := &census{count: func() (Census, error) {
		limited, cancel := context.WithTimeout(ctx, censusTimeout)
		defer cancel()
		known, err := count(limited)
		if ctx.Err() != nil {
			return Census{}, nil // nobody wants the numbers any more
		}
		return known, err
	}}
	registered, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		known := c.read()
		for name, n := range known.Status {
			o.ObserveInt64(status, n, metric.WithAttributes(attribute.String(agentStatus, string(name))))
		}
		for name, n := range known.Waiting {
			o.ObserveInt64(waiting, n, metric.WithAttributes(attribute.String(waitFor, string(name))))
		}
		return nil
	}, status, waiting)
	if err != nil {
		otel.Handle(err)
	}
	return func() {
		if registered != nil {
			_ = registered.Unregister() // its only error is that of a second call
		}
		cancel()
		c.running.Wait()
	}
}

// census is the last [Census].
type census struct {
	count   func() (Census, error)
	running sync.WaitGroup

	mu    sync.Mutex
	known Census
	began time.Time
}

// read returns the last census, and begins the next one if it is time. One runs at a time, because it
// takes less than half a minute.
func (c *census) read() Census {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() || time.Since(c.began) >= censusAge {
		c.began = time.Now()
		c.running.Go(func() {
			next, err := c.count()
			if err != nil {
				otel.Handle(err)
				next = Census{}
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.known = next
		})
	}
	return c.known
}
