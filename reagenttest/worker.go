package reagenttest

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/reagent-dev/reagent"
)

// dial returns a client for the server of the tests.
func (s *server) dial(options ...grpc.DialOption) (client.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return client.DialContext(ctx, client.Options{
		HostPort: s.address, Namespace: s.namespace, DataConverter: s.agents.options.Converter,
		Logger:            log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{DialOptions: options},
	})
}

// crashable is a worker with a connection of its own. After a crash, it has none, and its calls are cancelled.
type crashable struct {
	server   *server
	temporal client.Client
	worker   worker.Worker

	alive context.Context // ends with the crash
	die   context.CancelFunc
	close func()
}

func newCrashable(s *server) (*crashable, error) {
	w := &crashable{server: s}
	w.alive, w.die = context.WithCancel(context.Background())
	var err error
	if w.temporal, err = s.dial(grpc.WithChainUnaryInterceptor(w.intercept)); err != nil {
		return nil, err
	}
	plugin, err := reagent.New(s.agents.t.Context(), w.temporal, s.agents.watch(w.reach))
	if err != nil {
		w.temporal.Close()
		return nil, err
	}
	w.worker = worker.New(w.temporal, s.agents.options.TaskQueue, worker.Options{
		Plugins: []worker.Plugin{plugin}, WorkerStopTimeout: time.Millisecond, Interceptors: []interceptor.WorkerInterceptor{s.agents.attempts},
	})
	for _, register := range s.agents.register {
		register(w.worker)
	}
	if err := w.worker.Start(); err != nil {
		plugin.Close()
		w.temporal.Close()
		return nil, err
	}
	w.close = sync.OnceFunc(func() {
		w.worker.Stop()
		w.die()
		w.temporal.Close()
	})
	return w, nil
}

var errDead = status.Error(codes.Unavailable, errCrashed.Error())

// intercept cuts the requests to Temporal when the worker has crashed.
func (w *crashable) intercept(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if w.alive.Err() != nil {
		return errDead
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.alive, cancel)()
	err := invoke(ctx, method, req, reply, conn, opts...)
	if w.alive.Err() != nil {
		return errDead // what has come now has come to nobody
	}
	return err
}

// reach is called when a call of the worker has reached a point. It returns an error if the worker has crashed, there or before.
func (w *crashable) reach(_ context.Context, at Point) error {
	if w.alive.Err() == nil && !w.server.agents.crash.take(at) {
		return nil
	}
	if w.alive.Err() == nil {
		w.die()
		go func() {
			w.server.replace()
			w.close()
		}()
	}
	return errCrashed
}
