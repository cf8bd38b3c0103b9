package reagenttest_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// probe is a testing.TB that keeps its failures to itself.
type probe struct {
	testing.TB

	mu       sync.Mutex
	said     []string
	failed   bool
	cleanups []func()
}

func (p *probe) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = true
	p.said = append(p.said, text)
}

func (p *probe) Helper()                           {}
func (p *probe) Errorf(format string, args ...any) { p.say(fmt.Sprintf(format, args...)) }
func (p *probe) Fatalf(format string, args ...any) { p.Errorf(format, args...); runtime.Goexit() }
func (p *probe) Cleanup(f func())                  { p.cleanups = append(p.cleanups, f) }
func (p *probe) Failed() bool                      { p.mu.Lock(); defer p.mu.Unlock(); return p.failed }

// fatal runs a test in the test, and returns what it failed with.
func fatal(t *testing.T, test func(testing.TB)) string {
	p := &probe{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, cleanup := range slices.Backward(p.cleanups) {
				cleanup()
			}
		}()
		test(p)
	}()
	<-done
	return strings.Join(p.said, "\n")
}
