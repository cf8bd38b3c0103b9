package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

type service struct {
	agents *reagent.Client
	hub    *reagent.Hub
}

func (s *service) handler(codec converter.PayloadCodec) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /customers/{customer}/chats/{chat}", s.message)
	mux.HandleFunc("POST /customers/{customer}/chats/{chat}/calls/{call}", s.decide)
	mux.HandleFunc("GET /customers/{customer}/cost", s.cost)
	mux.Handle("/codec/", http.StripPrefix("/codec", converter.NewPayloadCodecHTTPHandler(codec))) // for starter and the Web UI
	return mux
}

func chatOf(r *http.Request) string {
	return "chat/" + r.PathValue("customer") + "/" + r.PathValue("chat")
}

// message takes a message and streams the reply, as server-sent events: "text" for each piece, "retry" if the text begins again, and at last
// "reply". A caller whose connection breaks repeats the request with the same id, and gets the same reply.
func (s *service) message(w http.ResponseWriter, r *http.Request) {
	var in struct{ ID, Text string }
	if !read(w, r, &in) {
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	chat := chatOf(r)
	pieces := s.hub.Listen(ctx, chat) // before the message is sent, so that no piece is missing
	sent, err := s.agents.SendOrStart(ctx, chat, reagent.Message{ID: in.ID, Text: in.Text},
		reagent.StartOptions{Agent: "desk", Metadata: agent.Metadata{"customer": r.PathValue("customer")}})
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	end := make(chan reply, 1)
	go func() {
		defer stop() // ends the loop over the pieces
		snap, err := s.agents.Reply(ctx, chat, sent.MessageID, 0, nil)
		out := reply{Answer: snap.Answer, Error: snap.Failure}
		if err != nil {
			out.Error = err.Error()
		}
		for _, w := range snap.Waiting {
			out.Waiting = append(out.Waiting, map[string]string{"call": w.Handle(), "tool": w.Call.Name, "arguments": w.Call.Arguments})
		}
		end <- out
	}()
	for p := range pieces {
		switch {
		case p.End == reagent.Discarded:
			event(w, "retry", "")
		case p.Delta.Text != "":
			event(w, "text", p.Delta.Text)
		}
	}
	event(w, "reply", <-end)
}

// reply is the last event. Either Answer is set, or an employee has to decide on the calls in Waiting, or Error says what went wrong.
type reply struct {
	Answer  string              `json:"answer,omitempty"`
	Waiting []map[string]string `json:"waiting,omitempty"`
	Error   string              `json:"error,omitempty"`
}

// decide approves or denies a call. The customer then repeats the message, and gets the reply.
func (s *service) decide(w http.ResponseWriter, r *http.Request) {
	var in struct{ Verdict, By, Reason string }
	if !read(w, r, &in) {
		return
	}
	decide := s.agents.Deny
	if in.Verdict == "approve" {
		decide = s.agents.Approve
	}
	if _, err := decide(r.Context(), chatOf(r), r.PathValue("call"), client.DecideOptions{By: in.By, Reason: in.Reason}); err != nil {
		fail(w, err)
	}
}

// cost answers with the cost of all chats of a customer, in US dollars.
func (s *service) cost(w http.ResponseWriter, r *http.Request) {
	var sum agent.Money
	for entry, err := range s.agents.List(r.Context(), client.ListOptions{Agent: "desk", Metadata: agent.Metadata{"customer": r.PathValue("customer")}}) {
		var snap client.Snapshot
		if err == nil {
			snap, err = s.agents.ReadEntry(r.Context(), entry)
		}
		if err != nil {
			fail(w, err)
			return
		}
		sum += snap.Usage.Spent().Cost
	}
	fmt.Fprintf(w, "%.6f\n", sum.Dollars())
}

func read(w http.ResponseWriter, r *http.Request, in any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(in); err != nil {
		http.Error(w, "the body is not JSON: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// fail answers with 400 for a mistake in the request, with 409 if a repetition of it is of no use, and with 503 if it may help.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusServiceUnavailable
	if _, missing := errors.AsType[*client.NoCallError](err); missing || errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrRefused) {
		code = http.StatusConflict
	} else if errors.Is(err, client.ErrInvalid) { // such as a message without an id
		code = http.StatusBadRequest
	}
	http.Error(w, err.Error(), code)
}

func event(w http.ResponseWriter, name string, data any) {
	text, _ := json.Marshal(data) // texts, which cannot fail
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	_ = http.NewResponseController(w).Flush()
}
