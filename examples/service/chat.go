package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/client"
)

type service struct {
	agents *reagent.Client
	hub    *reagent.Hub
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chats/{chat}", s.message)
	mux.HandleFunc("POST /chats/{chat}/calls/{call}", s.decide)
	return mux
}

// message takes a message and streams the reply, as server-sent events: "text" for each piece, and at last "reply". A caller whose
// connection breaks repeats the request with the same id, and gets the same reply.
func (s *service) message(w http.ResponseWriter, r *http.Request) {
	var in struct{ ID, Text string }
	if !read(w, r, &in) {
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	chat := r.PathValue("chat")
	pieces := s.hub.Listen(ctx, chat) // before the message is sent, so that no piece is missing
	sent, err := s.agents.SendOrStart(ctx, chat, reagent.Message{ID: in.ID, Text: in.Text}, reagent.StartOptions{Agent: "clerk"})
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	end := make(chan reply, 1)
	go func() {
		defer stop() // ends the loop over the pieces
		snap, err := s.agents.Reply(ctx, chat, sent.MessageID, 0, nil)
		end <- newReply(snap, err)
	}()
	for p := range pieces {
		if p.Delta.Text != "" {
			event(w, "text", p.Delta.Text)
		}
	}
	event(w, "reply", <-end)
}

// reply is the last event. Either Answer is set, or somebody has to decide on the calls in Waiting, or Error says what went wrong.
type reply struct {
	Answer  string `json:"answer,omitempty"`
	Waiting []call `json:"waiting,omitempty"`
	Error   string `json:"error,omitempty"`
}

type call struct {
	Call      string `json:"call"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Question  string `json:"question,omitempty"`
}

func newReply(snap client.Snapshot, err error) reply {
	if err != nil {
		return reply{Error: err.Error()}
	}
	out := reply{Answer: snap.Answer, Error: snap.Failure}
	for _, w := range snap.Waiting {
		question, _ := w.Call.Question()
		out.Waiting = append(out.Waiting, call{w.Handle(), w.Call.Name, w.Call.Arguments, question.Question})
	}
	return out
}

// decide approves a call, denies it, or answers its question. The caller then repeats its message, and gets the reply.
func (s *service) decide(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Approve bool
		Answer  string
		Reason  string
	}
	if !read(w, r, &in) {
		return
	}
	ctx, chat, call := r.Context(), r.PathValue("chat"), r.PathValue("call")
	options := client.DecideOptions{By: "a user of the service", Reason: in.Reason}
	var err error
	switch {
	case in.Answer != "":
		_, err = s.agents.Complete(ctx, chat, call, in.Answer, client.CompleteOptions{By: options.By})
	case in.Approve:
		_, err = s.agents.Approve(ctx, chat, call, options)
	default:
		_, err = s.agents.Deny(ctx, chat, call, options)
	}
	if err != nil {
		fail(w, err)
	}
}

func read(w http.ResponseWriter, r *http.Request, in any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(in); err != nil {
		http.Error(w, "the body is not JSON: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// fail answers with 409 if a repetition of the request is of no use, and with 503 if it may help.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusServiceUnavailable
	if _, missing := errors.AsType[*client.NoCallError](err); missing || errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrRefused) {
		code = http.StatusConflict
	}
	http.Error(w, err.Error(), code)
}

func event(w http.ResponseWriter, name string, data any) {
	text, _ := json.Marshal(data) // texts, which cannot fail
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	_ = http.NewResponseController(w).Flush()
}
