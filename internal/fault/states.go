//go:build faults

package fault

import (
	"os"

	"go.temporal.io/sdk/interceptor"

	"github.com/reagent-dev/reagent/internal/statelog"
)

// Interceptors returns an interceptor that records the state of each agent at each workflow task in the
// folder that [Env] names. It returns nil if [Env] is empty.
func Interceptors() []interceptor.WorkerInterceptor {
	dir := os.Getenv(Env)
	if dir == "" {
		return nil
	}
	return []interceptor.WorkerInterceptor{statelog.Interceptor(false, statelog.ToFile(dir))}
}
