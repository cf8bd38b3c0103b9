// Command platforms checks the types of the packages of this module and of their tests as they are on macOS and Windows. It finds what
// does not exist there, such as a signal or a field of a system call.
//
// `go vet` and `go build` find it, too, but both compile everything that is imported, once for each system. This takes minutes. The
// command reads the imported packages from their sources without the bodies of their functions.
//
//	go run ./internal/dev/platforms
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
)

// module is the path of this module.
const module = "github.com/reagent-dev/reagent"

// platform is an operating system.
type platform struct {
	system string
	// without has the packages that are not checked, because they do not support the system. Each entry is the beginning of a path below
	// the module.
	without []string
}

// Agents run on macOS and Windows, too. The tests of e2e and of the gates use signals of Unix.
var platforms = []platform{
	{system: "darwin"},
	{system: "windows", without: []string{"e2e/", "internal/dev/gates"}},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := checkAll(ctx, platforms)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// checkAll checks the platforms at the same time. The error has the mistakes of all of them.
func checkAll(ctx context.Context, platforms []platform) error {
	failed := make([]error, len(platforms))
	var wait sync.WaitGroup
	for i, p := range platforms {
		wait.Go(func() {
			if err := p.check(ctx, "./..."); err != nil {
				failed[i] = fmt.Errorf("on %s:\n%w", p.system, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

// has reports whether the package belongs to this module and is checked on the platform.
func (p platform) has(path string) bool {
	path, _, _ = strings.Cut(path, " ") // "path [path.test]" is the package with its tests
	below, ok := strings.CutPrefix(strings.TrimSuffix(path, "_test")+"/", module+"/")
	if !ok {
		return false
	}
	for _, prefix := range p.without {
		if strings.HasPrefix(below, prefix) {
			return false
		}
	}
	return true
}
