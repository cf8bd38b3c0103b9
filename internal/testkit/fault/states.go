//go:build faults

package fault

import (
	"os"

	"go.temporal.io/sdk/interceptor"

	"github.com/reagent-dev/reagent/internal/testkit/statelog"
)

// Interceptors returns an interceptor that records the state of each agent at each workflow task, for tests. It writes the
// states into the folder whose path is in the environment variable [Env]. If the variable is empty, Interceptors returns nil.
func Interceptors() []interceptor.WorkerInterceptor {
	dir := os.Getenv(Env)
	if dir == "" {
		return nil
	}
	return []interceptor.WorkerInterceptor{statelog.Interceptor(false, statelog.ToFile(dir))}
}
