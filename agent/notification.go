package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/internal/clip"
)

// An agent notifies programs when a person has to act, and when the agent has ended. A program that gets notifications is a hook.
// A notification is state until it is delivered, so a crash and a continue-as-new lose none. The agent never waits for a delivery,
// except at its end.

// Hook is a receiver of notifications. The address of the hook and its secrets stay with the worker.
type Hook struct {
	// Name is the name by which the worker finds the hook.
	Name string `json:"name"`
	// On lists the occasions about which the hook gets a notification.
	On []Occasion `json:"on"`
}

// Occasion says what a notification is about.
type Occasion string

const (
	// OnWaits means that a call has begun to wait for somebody outside the agent: see [Call.Waits].
	OnWaits Occasion = "waits"
	// OnHeld means that the turn is held, and a person has to act: see [Hold]. A turn that a person has interrupted is not meant.
	OnHeld Occasion = "held"
	// OnEnded means that the agent has ended. Only root agents notify of their ends, because the parent of a sub-agent gets the answer.
	OnEnded Occasion = "ended"
)

// Occasions returns all occasions, in a new slice.
func Occasions() []Occasion { return []Occasion{OnWaits, OnHeld, OnEnded} }

// Notification is a message of the agent to a hook. Its content never changes, even if it is delivered again.
type Notification struct {
	// Key identifies the notification. A hook that gets a notification with the same key again can ignore it.
	Key Key `json:"key"`
	// Hook is the name of the hook that gets the notification: see [Hook].
	Hook string `json:"hook"`
	// On says what the notification is about.
	On Occasion `json:"on"`
	// Time is the time at which the notification was made, in Unix milliseconds.
	Time int64 `json:"time"`
	// Status is the status of the agent at that time.
	Status Status `json:"status"`
	// WaitsFor is what the first of Calls waits for. It is empty for the other occasions.
	WaitsFor WaitsFor `json:"waits_for,omitempty"`
	// Calls are the calls that have begun to wait. There are at most 20.
	Calls []NotifiedCall `json:"calls,omitempty"`
	// CallsOmitted is the number of further calls that have begun to wait, and for which Calls has no room.
	CallsOmitted int `json:"calls_omitted,omitempty"`
	// Class is the class of the error that holds the turn or has ended the agent. It is empty if there is none.
	Class string `json:"class,omitempty"`
	// Message says why the turn is held, or why the agent failed or was cancelled. It has at most 4000 bytes.
	Message string `json:"message,omitempty"`
	// Stopped names the limit that ended the last turn early: see [Outcome].
	Stopped string `json:"stopped,omitempty"`
	// Answer is the answer of an agent that has ended. It has at most 4000 bytes.
	Answer string `json:"answer,omitempty"`
	// Metadata is that of the agent and of the last turn: see [State.CurrentMetadata].
	Metadata Metadata `json:"metadata,omitempty"`
}

// NotifiedCall is a call in a [Notification], or a text about which a guardrail asks a person.
type NotifiedCall struct {
	// Key is the key of the call.
	Key Key `json:"key"`
	// Tool is the name of the tool or of the sub-agent.
	Tool string `json:"tool"`
	// Arguments are the arguments of the call, with at most 1000 bytes. If they are longer, their middle is left out.
	Arguments string `json:"arguments"`
	// Question is the question of the tool to a person, with at most 4000 bytes: see [Elicitation]. It is empty if there is none.
	Question string `json:"question,omitempty"`
	// Subject says what the text is about which the guardrail Tool asks; it is empty for a call. Reason says why, with at most 1000 bytes.
	Subject TextKind `json:"subject,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	// WaitsFor is what the call waits for.
	WaitsFor WaitsFor `json:"waits_for"`
	// Until is the end of the wait, in Unix milliseconds; 0 if the wait has no limit.
	Until int64 `json:"until,omitempty"`
}

const (
	// maxNotifications is the largest number of notifications in a state. A further one removes the oldest.
	maxNotifications = 100
	maxNotifiedCalls = 20
	// notifiedArgumentsBytes is the size, in bytes, to which the arguments of a call in a notification are cut.
	notifiedArgumentsBytes = 1000
	// notifiedTextBytes is the size, in bytes, to which the message and the answer in a notification are cut.
	notifiedTextBytes = 4000
)

// notificationKey returns the key of a notification to the hook with the given name. `about` distinguishes the notification from
// others of the same occasion.
func (id Identity) notificationKey(hook string, on Occasion, about any) Key {
	return id.key(KindNotify, struct {
		Hook  string   `json:"hook"`
		On    Occasion `json:"on"`
		About any      `json:"about"`
	}{hook, on, about})
}

// notifiedTurn distinguishes the notifications about held turns and about ends. The time is a part of it: if the same call fails again
// after a reset, a person has to act again. A notification is delivered under its key, and no run searches for it. So the rule that
// keys contain no times does not apply.
type notifiedTurn struct {
	Status    Status `json:"status"`
	Operation Key    `json:"operation,omitempty"`
	Time      int64  `json:"time"`
}

// notifiedWait distinguishes the notifications about calls that wait.
type notifiedWait struct {
	Call     Key      `json:"call"`
	WaitsFor WaitsFor `json:"waits_for"`
}

// apply makes the notifications that are due, and adds them to [State].Notifications. It makes each notification only once. It
// returns false if none is due.
func (e NotificationsDue) apply(s *State) bool {
	if s.Definition == nil || len(s.Definition.Notify) == 0 {
		return false
	}
	if e.Outcome != nil {
		return s.notifyEnd(*e.Outcome, e.Time)
	}
	if s.Outcome != nil {
		return false
	}
	waits := s.notifyWaits(e.Time)
	return s.notifyHeld() || waits
}

func (s *State) notifyWaits(now int64) bool {
	n := Notification{On: OnWaits, Time: now}
	var about []notifiedWait
	for i := range s.Calls {
		c := &s.Calls[i]
		waitsFor := c.WaitsFor()
		if waitsFor == "" || c.Wait.Notified {
			continue
		}
		c.Wait.Notified = true
		about = append(about, notifiedWait{c.Key, waitsFor})
		if len(n.Calls) == maxNotifiedCalls {
			n.CallsOmitted++
			continue
		}
		call := NotifiedCall{Key: c.Key, Tool: c.Name, Arguments: clip.Middle(c.Arguments, notifiedArgumentsBytes), WaitsFor: waitsFor, Until: c.Wait.Until}
		if c.elicits() {
			call.Question = clip.Middle(c.Elicitation.Question, notifiedTextBytes)
		}
		n.Calls = append(n.Calls, call)
	}
	about = s.notifyTexts(&n, about)
	if len(about) == 0 {
		return false
	}
	n.Status, n.WaitsFor = s.CopiedStatus(), n.Calls[0].WaitsFor
	s.notify(n, about)
	return true
}

// notifyTexts adds the texts about which a person is asked.
func (s *State) notifyTexts(n *Notification, about []notifiedWait) []notifiedWait {
	for i := range s.Checks {
		t := &s.Checks[i]
		if !t.Asks || t.Notified || !s.isJudged(*t) {
			continue
		}
		t.Notified = true
		about = append(about, notifiedWait{t.Key, WaitsForApproval})
		if len(n.Calls) == maxNotifiedCalls {
			n.CallsOmitted++
			continue
		}
		n.Calls = append(n.Calls, NotifiedCall{
			Key: t.Key, Tool: t.Left[0], Arguments: clip.Middle(t.call().Arguments, notifiedArgumentsBytes), WaitsFor: WaitsForApproval,
			Subject: t.Kind, Reason: clip.Middle(t.Reason, notifiedArgumentsBytes),
		})
	}
	return about
}

// notifyHeld makes the notifications about a turn that is held. Their time is that of the hold.
func (s *State) notifyHeld() bool {
	if s.Hold == nil || s.Hold.Notified || s.Hold.Class == Interrupted || s.CopiedStatus() != Held {
		return false
	}
	s.Hold.Notified = true
	n := Notification{On: OnHeld, Time: s.Hold.Time, Status: Held, Class: s.Hold.Class, Message: clip.Middle(s.Hold.Message, notifiedTextBytes)}
	s.notify(n, notifiedTurn{Held, s.Hold.Key, s.Hold.Time})
	return true
}

func (s *State) notifyEnd(o Outcome, now int64) bool {
	if s.Depth > 0 || s.EndNotified == now {
		return false
	}
	s.EndNotified = now
	s.notify(Notification{
		On: OnEnded, Time: now, Status: o.Status, Class: o.Class, Stopped: o.Stopped,
		Message: clip.Middle(o.Message, notifiedTextBytes), Answer: clip.Middle(o.Answer, notifiedTextBytes),
	}, notifiedTurn{Status: o.Status, Time: now})
	return true
}

// notify adds a copy of the notification n for each hook that wants it.
func (s *State) notify(n Notification, about any) {
	for _, hook := range s.Definition.Notify {
		if !slices.Contains(hook.On, n.On) {
			continue
		}
		n.Hook, n.Key, n.Metadata = hook.Name, s.notificationKey(hook.Name, n.On, about), s.CurrentMetadata()
		s.Notifications = append(s.Notifications, n)
	}
	if over := len(s.Notifications) - maxNotifications; over > 0 {
		s.Notifications = slices.Delete(s.Notifications, 0, over)
	}
}

func (e NotificationEnded) apply(s *State) bool {
	before := len(s.Notifications)
	s.Notifications = slices.DeleteFunc(s.Notifications, func(n Notification) bool { return n.Key == e.Key })
	return len(s.Notifications) < before
}
