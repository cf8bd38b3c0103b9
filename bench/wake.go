package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/dial"
)

const (
	// wokenChats is the number of chats that get a message at the same time.
	wokenChats = 500
	// wakeRounds is the number of rounds. It is even, because in each round another contestant wakes first.
	wakeRounds = 2
)

// wake measures how long chats need that wait for a message, if many get one at once: from the call that sends it to the request at the
// model. The workflow by hand is [ChatByHand]. Both have the same worker process, with the same options, and share its cache of [cachedChats]
// workflows. The cache has the workflows that woke last, so each contestant begins one of two rounds. If `n` is 0, wake does nothing.
func (l *lab) wake(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	progressf("%d chats that wake at once", n)
	s, err := newSleep(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.startChats(ctx, 0, n); err != nil {
		return err
	}
	if err := s.startByHand(ctx, n); err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	send := [len(contestants)]func(ctx context.Context, i int, text string) error{byHand: s.sendByHand, reagent: func(ctx context.Context, i int, text string) error {
		_, err := s.agents.Send(ctx, chatID(i), agents.Message{Text: text})
		return err
	}}
	var middle, late, workers, servers [len(contestants)][]float64
	for round := range wakeRounds {
		for i := range contestants {
			who := contestants[(i+round)%len(contestants)]
			worker, server := serverCPU(s.worker.Process.Pid), serverCPU(s.server.PID())
			waits, err := s.wake(ctx, n, fmt.Sprint("wake up ", who, " ", round), send[who])
			if err == nil {
				err = s.quiet(ctx)
			}
			if err != nil {
				return err
			}
			middle[who], late[who] = append(middle[who], waits[n/2]), append(late[who], waits[n*99/100])
			progressf("  %s: %.0f ms", [...]string{byHand: "by hand", reagent: "reagent"}[who], waits[n/2])
			workers[who] = append(workers[who], (serverCPU(s.worker.Process.Pid)-worker).Seconds()*1000/float64(n))
			servers[who] = append(servers[who], (serverCPU(s.server.PID())-server).Seconds()*1000/float64(n))
		}
	}
	name := func(what string) string { return fmt.Sprintf("%s, %d chats wake at once", what, n) }
	l.report.compare(name("ms to the model, p50"), "%.0f", medians(middle), 1.2)
	l.report.compare(name("ms to the model, p99"), "%.0f", medians(late), 1.2)
	l.report.compare(name("worker CPU ms a chat"), "%.1f", medians(workers), 0)
	l.report.compare(name("server CPU ms a chat"), "%.1f", medians(servers), 0)
	return nil
}

// wake sends a message to each of `n` chats at once, by `send`. It returns the times from this call to the request to the model, in
// milliseconds, in ascending order. All messages begin with `text`.
func (s *sleep) wake(ctx context.Context, n int, text string, send func(ctx context.Context, i int, text string) error) ([]float64, error) {
	sent, failed := make([]time.Time, n), make([]error, n)
	message := func(i int) string { return fmt.Sprint(text, " ", i) }
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			sent[i] = time.Now()
			failed[i] = send(ctx, i, message(i))
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	var waits []float64
	for i := range n {
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			if at, ok := s.asked.Load(message(i)); ok {
				waits = append(waits, at.(time.Time).Sub(sent[i]).Seconds()*1000)
				break
			}
			if time.Since(began) > patience {
				return nil, fmt.Errorf("the model got no request with the message %q", message(i))
			}
		}
	}
	slices.Sort(waits)
	return waits, nil
}

const (
	queueByHand   = "by-hand"
	messageByHand = "message"
)

func chatByHandID(i int) string { return fmt.Sprint("by-hand-", i) }

// startByHand starts `n` workflows by hand, and waits until the model has answered each of them and of the chats.
func (s *sleep) startByHand(ctx context.Context, n int) error {
	group, starting := errgroup.WithContext(ctx)
	group.SetLimit(startsAtOnce)
	for i := range n {
		group.Go(func() error {
			options := client.StartWorkflowOptions{ID: chatByHandID(i), TaskQueue: queueByHand}
			_, err := s.temporal.ExecuteWorkflow(starting, options, ChatByHand, fmt.Sprint("hello by hand ", i))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for began := time.Now(); s.turns.Load() < int64(2*n); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			return fmt.Errorf("the model got %d of %d requests", s.turns.Load(), 2*n)
		}
	}
	return nil
}

func (s *sleep) sendByHand(ctx context.Context, i int, text string) error {
	update, err := s.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: chatByHandID(i), UpdateName: messageByHand, WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{text},
	})
	if err != nil {
		return err
	}
	return update.Get(ctx, nil)
}

// ChatByHand is the workflow with which chats are compared that wait for a message. For the first text and for each text that an update
// brings, it runs the activity "AskByHand" once.
func ChatByHand(ctx workflow.Context, first string) error {
	texts := []string{first}
	err := workflow.SetUpdateHandler(ctx, messageByHand, func(_ workflow.Context, text string) error {
		texts = append(texts, text)
		return nil
	})
	if err != nil {
		return err
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 5 * time.Minute})
	for taken := 0; ; taken++ {
		if err := workflow.Await(ctx, func() bool { return len(texts) > taken }); err != nil {
			return err
		}
		if err := workflow.ExecuteActivity(ctx, "AskByHand", texts[taken]).Get(ctx, nil); err != nil {
			return err
		}
	}
}

// modelURL is the base URL of the model that [modelURL.AskByHand] asks.
type modelURL string

// AskByHand is the activity of [ChatByHand]. It sends the text to the model.
func (u modelURL) AskByHand(ctx context.Context, text string) (string, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(map[string]any{"model": "m", "messages": []message{{"user", text}}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(u)+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the model answered %s: %s", resp.Status, reply)
	}
	return string(reply), err
}

// serveByHand runs a worker for [ChatByHand] in this process until the caller calls `stop`.
func serveByHand(address, model string) (stop func(), err error) {
	worker.SetStickyWorkflowCacheSize(cachedChats) // before the first worker of the process
	options, err := dial.ClientOptions(address, "")
	if err != nil {
		return nil, err
	}
	options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	temporal, err := client.Dial(options)
	if err != nil {
		return nil, err
	}
	w := worker.New(temporal, queueByHand, worker.Options{ // as the worker of agents has them: see the Plugin of package reagent
		StickyScheduleToStartTimeout: time.Second,
		WorkflowTaskPollerBehavior:   worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: 2}),
	})
	w.RegisterWorkflow(ChatByHand)
	w.RegisterActivity(modelURL(model).AskByHand)
	if err := w.Start(); err != nil {
		return nil, err
	}
	return func() {
		w.Stop()
		temporal.Close()
	}, nil
}
