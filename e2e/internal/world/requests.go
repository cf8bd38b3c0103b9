package world

import (
	"maps"
	"net"
	"path"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// Requests forwards the requests of a program to a Temporal server, and counts them.
type Requests struct {
	listener net.Listener
	far      *grpc.ClientConn

	mu     sync.Mutex
	counts map[string]int
}

// maxRequestBytes is larger than any request or response of Temporal.
const maxRequestBytes = 64 << 20

// CountRequests returns a Requests for the server at the address target, a host and a port. It ends with the test.
func CountRequests(t testing.TB, target string) *Requests {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	far, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(frames{}), grpc.MaxCallRecvMsgSize(maxRequestBytes)))
	require.NoError(t, err)
	r := &Requests{listener: l, far: far, counts: map[string]int{}}
	near := grpc.NewServer(grpc.ForceServerCodec(frames{}), grpc.MaxRecvMsgSize(maxRequestBytes), grpc.UnknownServiceHandler(r.forward))
	var serving sync.WaitGroup
	serving.Go(func() { _ = near.Serve(l) })
	t.Cleanup(func() {
		near.Stop()
		serving.Wait()
		_ = far.Close()
	})
	return r
}

// Address returns the host and port for the program.
func (r *Requests) Address() string { return r.listener.Addr().String() }

// Take returns the number of requests since the last call of Take, by the name of the method.
func (r *Requests) Take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := maps.Clone(r.counts)
	clear(r.counts)
	return counts
}

// forward answers one request with the response of the server.
func (r *Requests) forward(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	r.mu.Lock()
	r.counts[path.Base(method)]++
	r.mu.Unlock()
	var request, response frame
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	header, _ := metadata.FromIncomingContext(stream.Context())
	if err := r.far.Invoke(metadata.NewOutgoingContext(stream.Context(), header), method, &request, &response); err != nil {
		return err
	}
	return stream.SendMsg(&response)
}

// frame is an encoded message, and frames leaves messages encoded.
type (
	frame  []byte
	frames struct{}
)

// Name implements the codec of gRPC.
func (frames) Name() string { return "proto" }

// Marshal implements the codec of gRPC.
func (frames) Marshal(v any) ([]byte, error) { return *v.(*frame), nil }

// Unmarshal implements the codec of gRPC.
func (frames) Unmarshal(data []byte, v any) error {
	*v.(*frame) = append(frame{}, data...)
	return nil
}
