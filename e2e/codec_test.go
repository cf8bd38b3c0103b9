package e2e_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"

	reagent "github.com/reagent-dev/reagent/client"
)

// codecForAll makes every test run with encrypted payloads.
const codecForAll = "REAGENT_E2E_CODEC"

const codecAuth = "Bearer of the codec"

// vault encrypts whole payloads, as people do who trust Temporal's operator with nothing.
type vault struct{ cipher.AEAD }

const vaultEncoding = "binary/encrypted"

func newVault() vault {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return vault{aead}
}

func (v vault) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	sealed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		sealed[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(vaultEncoding)},
			Data:     v.Seal(nil, nil, plain, nil),
		}
	}
	return sealed, nil
}

// Decode is strict: what is in clear should not be there.
func (v vault) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != vaultEncoding {
			return nil, errors.New("a payload in clear")
		}
		plain, err := v.Open(nil, nil, p.GetData(), nil)
		if err != nil {
			return nil, err
		}
		opened[i] = new(commonpb.Payload)
		if err := proto.Unmarshal(plain, opened[i]); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// codecServer is a codec server that asks who is there.
type codecServer struct {
	*httptest.Server
	// away is the path of the requests that find nobody; they are counted.
	away    atomic.Value
	refused atomic.Int32
}

func serveCodec() *codecServer {
	s := new(codecServer)
	s.away.Store("")
	codec := converter.NewPayloadCodecHTTPHandler(newVault())
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != codecAuth || r.Header.Get("X-Namespace") != "default":
			http.Error(w, "not you", http.StatusForbidden)
		case r.URL.Path == s.away.Load():
			s.refused.Add(1)
			http.Error(w, "later", http.StatusServiceUnavailable)
		default:
			codec.ServeHTTP(w, r)
		}
	}))
	return s
}

// useCodec lets workers, starter and clients that are made from here on use a codec server.
func useCodec(codec *codecServer, setenv func(name, value string)) {
	setenv("TEMPORAL_CODEC_ENDPOINT", codec.URL)
	setenv("TEMPORAL_CODEC_AUTH", codecAuth)
}

// agentsOf is a client for the agents on a queue that reads what the codec of the environment wrote.
func agentsOf(c sdk.Client, queue string) *reagent.Client {
	options, err := config.ClientOptions("", "")
	if err != nil {
		panic(err)
	}
	return reagent.New(c, queue).WithConverter(options.DataConverter)
}

// dialed is a client of the shared server as the environment wants it.
func dialed(t *testing.T) sdk.Client {
	options, err := config.ClientOptions(server.Address(), "")
	require.NoError(t, err)
	c, err := sdk.Dial(options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// stored is all that Temporal keeps of an agent's newest run and tells whoever asks.
func stored(t *testing.T, id string) []byte {
	bare, err := sdk.Dial(sdk.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	defer bare.Close()
	found, err := bare.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	all, err := proto.Marshal(found)
	require.NoError(t, err)
	events := bare.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		data, err := proto.Marshal(event)
		require.NoError(t, err)
		all = append(all, data...)
	}
	return all
}

// Temporal sees nothing of what agents are told, say and do, and everything that can be done with
// agents can be done with these: they are found, read, reset, resumed and forked, and repeat nothing.
func TestPayloadsAreEncrypted(t *testing.T) {
	codec := serveCodec()
	defer codec.Close()
	useCodec(codec, t.Setenv)

	const (
		instructions = "SecretInstructions"
		task         = "SecretTask"
		arguments    = "SecretArguments"
		result       = "SecretResult"
		childTask    = "SecretChildTask"
		childAnswer  = "SecretChildAnswer"
		answer       = "SecretAnswer"
		failure      = "SecretFailure"
	)
	secrets := []string{instructions, task, arguments, result, childTask, childAnswer, answer, failure}
	tools := newToolServer(t)
	tools.add("pay", nil, func(context.Context, effect) (string, error) { return result, nil })
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch last.Content {
		case childTask:
			return llmtest.Say(childAnswer), nil
		case failure:
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: failure}
		case task:
			return llmtest.Call(
				llmtest.ToolCall("1", "pay", `{"for":"`+arguments+`"}`),
				llmtest.ToolCall("2", "clerk", `{"task":"`+childTask+`"}`),
			), nil
		}
		return llmtest.Say(answer), nil
	}, tools, "    tools: [far.*]\n    agents: [clerk]\n    instructions: "+instructions+"\n  clerk:\n    model: main\n    instructions: "+instructions+"\n")
	w.temporal = dialed(t)
	w.client = agentsOf(w.temporal, w.queue)
	worker := w.worker()
	require.Contains(t, worker.output(), "Payloads    pass through a codec server\n")
	hidden := func(id string) {
		t.Helper()
		kept := stored(t, id)
		require.Contains(t, string(kept), vaultEncoding)
		for _, secret := range secrets {
			require.False(t, bytes.Contains(kept, []byte(secret)), "%s is in clear in %s", secret, id)
		}
	}

	w.must("run", "-a", "x", "--id", t.Name(), task)
	s := w.show(t.Name())
	require.Equal(t, []string{
		"user: " + task, `assistant: [pay {"for":"` + arguments + `"}][clerk {"task":"` + childTask + `"}]`,
		"tool: " + result, "tool: " + childAnswer, "assistant: " + answer,
	}, s.lines())
	require.Len(t, s.Children, 1)
	hidden(t.Name())
	hidden(s.Children[0].ID)
	require.Equal(t, "user: "+childTask, w.show(s.Children[0].ID).lines()[0])

	// A reset recalls what it did and finds its sub-agent.
	w.reset(t.Name(), "", 1)
	w.finished(t.Name(), answer)
	require.Equal(t, s.lines(), w.show(t.Name()).lines())
	w.once()
	hidden(t.Name())

	// A fork reads it.
	w.must("fork", t.Name(), "--id", t.Name()+"-fork", "--message", "and then?")
	require.Equal(t, s.lines(), w.show(t.Name() + "-fork").lines()[:5])
	hidden(t.Name() + "-fork")

	// A terminated one is read and goes on.
	w.must("run", "-a", "x", "--chat", "--id", t.Name()+"-chat", task)
	require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), t.Name()+"-chat", "", "test"))
	require.Equal(t, "terminated", w.show(t.Name()+"-chat").Status)
	w.must("resume", t.Name()+"-chat", "--message", "once more")
	require.Equal(t, append(s.lines(), "user: once more", "assistant: "+answer), w.show(t.Name()+"-chat").lines())
	hidden(t.Name() + "-chat")
	w.once()

	// So are the words of a failure.
	_, errs, code := w.starter("run", "-a", "x", "--id", t.Name()+"-failed", failure)
	require.Equal(t, 3, code)
	require.Contains(t, errs, failure)
	require.Contains(t, w.show(t.Name()+"-failed").Error, failure)
	hidden(t.Name() + "-failed")

	// The names of agents are in memos.
	w.eventually("the list tells them apart", func() bool {
		return len(w.list("--agent", "x")) == 4 && len(w.list("--agent", "clerk")) == 2
	})
}

// A codec server that goes away holds everything up, and decides nothing: not that a call is made
// again, not that an agent fails.
func TestCodecServerMayGoAway(t *testing.T) {
	codec := serveCodec()
	defer codec.Close()
	useCodec(codec, t.Setenv)

	// The tool's result cannot be encoded at first, and the workflow cannot decode it then.
	taskFails := make(chan struct{})
	tools := newToolServer(t)
	tools.add("pay", nil, func(context.Context, effect) (string, error) {
		codec.away.Store("/encode")
		go func() {
			defer close(taskFails)
			eventually(t, "the result is not encoded", func() bool { return codec.refused.Load() >= 3 })
			codec.away.Store("/decode")
			eventually(t, "the result is not decoded", func() bool { return codec.refused.Load() >= 4 })
			codec.away.Store("")
		}()
		return "paid", nil
	})
	w := newWorld(t, script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done")), tools, "")
	w.temporal = dialed(t)
	w.client = agentsOf(w.temporal, w.queue)
	w.worker()
	w.must("run", "--detach", "--id", t.Name(), "pay")
	<-taskFails
	w.finished(t.Name(), "done")
	require.Equal(t, []string{"user: pay", "assistant: [pay {}]", "tool: paid", "assistant: done"}, w.show(t.Name()).lines())
	w.once()
}
