package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/reagent-dev/reagent/llm"
)

// InboxMessage is a message that waits to be taken into the transcript.
type InboxMessage struct {
	// ID is the client's: a message whose ID the agent has seen before is dropped. It has no white space and no
	// control characters; the IDs that this package makes have a space, so that the two never meet.
	ID   string `json:"id"`
	Text string `json:"text"`
	// Images are shown to the model with the text: web addresses, or data: URLs of at most MaxImageBytes.
	Images []string `json:"images,omitempty"`
	// Steer lets the message enter at the next boundary of the running turn. Without
	// it, it is the next turn's.
	Steer bool `json:"steer,omitempty"`
	// After is the number of messages that the transcript has at least when the message enters the running
	// turn: see [State.Entry]. It matters where Temporal delivers the message again after a reset, at once and before
	// the turn in which it had come. Zero means any number.
	After int `json:"after,omitempty"`
	// Run is the run to which the sender sent the message, as [State.Entry] was seen there. Empty means that it is not known.
	Run string `json:"run,omitempty"`
	// Fresh says that no earlier run can have had the message. The driver sets it.
	Fresh bool `json:"fresh,omitempty"`
	// Found says that another run took the message: see [MessagesFound].
	Found bool `json:"found,omitempty"`
	// Brought says that a run that was reset began with the message, so that it was sent before all that other runs took.
	Brought bool `json:"brought,omitempty"`
	// Late is set where the message carries the result of an interrupted call.
	Late *LateResult `json:"late,omitempty"`
	// Time is the time at which the agent received it, in Unix milliseconds.
	Time int64 `json:"time,omitempty"`
}

// LateResult is the result of a call that had been answered as interrupted.
type LateResult struct {
	Call   Key    `json:"call"`
	Child  Key    `json:"child,omitempty"`
	Result Result `json:"result"`
	// For is the call that got the result in an earlier run, because it asked for the sub-agent again. The message
	// enters where that call does not come. Empty means that the next call that asks again gets the result.
	For Key `json:"for,omitempty"`
}

// Bounds on what an agent takes in.
const (
	// MaxMessageBytes is the size of the text of one message.
	MaxMessageBytes = 1 << 20
	// MaxEncodedBytes is the size of one message, text and images together, as Temporal stores it: in JSON,
	// where "<", ">" and "&" take six bytes each. Temporal ends a workflow that accepts an update of more
	// than 2 MiB, and a codec may add a third to the size.
	MaxEncodedBytes = 1_500_000
	// MaxInboxBytes is the size of all messages that may wait, encoded.
	MaxInboxBytes = 8_000_000
	// MaxInbox is the number of messages that may wait, by which a driver refuses new ones. The
	// core takes more: after a reset Temporal delivers all earlier messages at once,
	// and none of them may be lost.
	MaxInbox = 100
	// MaxImages is the number of images of a message, MaxImageBytes the size of those that travel in it. In
	// a data: URL they take a third more.
	MaxImages     = 10
	MaxImageBytes = 1 << 20
	// MaxIDBytes is the length of a message's ID.
	MaxIDBytes = 200

	maxURLBytes = 2000
	maxSeen     = 10_000
)

// Errors for a message that an agent does not take. Those for its size say so in their text.
var (
	ErrEnded     = errors.New("the agent has ended")
	ErrClosing   = errors.New("the agent is closing and takes no more messages")
	ErrInboxFull = fmt.Errorf("%d messages, or %d MB of messages, wait already; try again when the agent has answered some",
		MaxInbox, MaxInboxBytes/1_000_000)
	ErrMessage = errors.New("invalid message")
)

// CheckMessage reports why an agent never takes the message, whatever its state: an error that wraps
// [ErrMessage], or nil.
func CheckMessage(m InboxMessage) error {
	if err := m.check(); err != nil {
		return err
	}
	if strings.ContainsFunc(m.ID, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%w: id %q has white space or control characters; use letters, digits and punctuation only", ErrMessage, m.ID)
	}
	if size := m.EncodedBytes(); size > MaxEncodedBytes {
		return fmt.Errorf("%w: it has %d bytes when encoded as JSON, in which \"<\", \">\" and \"&\" take 6 bytes each; the limit is %d: "+
			"put long material into a file that a tool can read", ErrMessage, size, MaxEncodedBytes)
	}
	return nil
}

// EncodedBytes returns the size of the message in a payload, in bytes, as the data converter of the SDK encodes it.
func (m InboxMessage) EncodedBytes() int {
	text, err := json.Marshal(m)
	if err != nil { // no value of this type causes it
		panic("agent: " + err.Error())
	}
	return len(text)
}

// check is the part of [CheckMessage] that also holds for messages of histories that earlier versions wrote. It
// never becomes stricter: a message that was taken is taken again in a replay.
func (m InboxMessage) check() error {
	switch {
	case m.ID == "" || len(m.ID) > MaxIDBytes:
		return fmt.Errorf("%w: id has %d bytes; it must have 1 to %d", ErrMessage, len(m.ID), MaxIDBytes)
	case strings.TrimSpace(m.Text) == "" && len(m.Images) == 0:
		return fmt.Errorf("%w: text is empty", ErrMessage)
	case len(m.Text) > MaxMessageBytes:
		return fmt.Errorf("%w: text has %.1f MB; the limit is %d MiB: put long material into a file that a tool can read",
			ErrMessage, float64(len(m.Text))/1e6, MaxMessageBytes>>20)
	case m.Late != nil:
		return fmt.Errorf("%w: late is not for clients to set", ErrMessage)
	case m.After < 0:
		return fmt.Errorf("%w: after is %d; it must be 0 or more", ErrMessage, m.After)
	}
	return checkImages(m)
}

func checkImages(m InboxMessage) error {
	if len(m.Images) > MaxImages {
		return fmt.Errorf("%w: there are %d images; the limit is %d", ErrMessage, len(m.Images), MaxImages)
	}
	inline := 0
	for i, image := range m.Images {
		switch {
		case strings.HasPrefix(image, "data:image/"):
			inline += len(image)
		case strings.HasPrefix(image, "https://"), strings.HasPrefix(image, "http://"):
			if len(image) > maxURLBytes {
				return fmt.Errorf("%w: the address of image %d has %d bytes; the limit is %d", ErrMessage, i+1, len(image), maxURLBytes)
			}
		default:
			return fmt.Errorf("%w: image %d is neither a web address nor a data: URL of an image", ErrMessage, i+1)
		}
	}
	// With the text it has to fit into one payload.
	if limit := MaxImageBytes * 4 / 3; inline > limit+100 || inline > 0 && inline+len(m.Text) > limit+MaxMessageBytes/4 {
		return fmt.Errorf("%w: the images have %.1f MB with their text; the limit is %d MiB: give their addresses instead",
			ErrMessage, float64(inline*3/4+len(m.Text))/1e6, MaxImageBytes>>20)
	}
	return nil
}

// Accepts reports why the agent would not take m now; nil if it would, or has it.
func (s *State) Accepts(m InboxMessage) error {
	if err := CheckMessage(m); err != nil {
		return err
	}
	switch {
	case s.Outcome != nil:
		return ErrEnded
	case s.Has(m.ID):
		return nil
	case s.Closing:
		return ErrClosing
	}
	return nil
}

// Has reports whether the agent has received a message of that ID. It knows the newest 10,000 IDs.
func (s *State) Has(messageID string) bool { return slices.Contains(s.SeenMessageIDs, messageID) }

// InboxBytes returns the size of the messages that wait, encoded.
func (s *State) InboxBytes() int {
	size := 0
	for _, m := range s.Inbox {
		size += m.EncodedBytes()
	}
	return size
}

// messageReceived takes a message also when the agent is closing: a reset delivers messages and the close
// behind them at once, and in an order of its own. What comes after a close is for the driver to refuse.
func (s *State) messageReceived(e MessageReceived) bool {
	if s.Has(e.Message.ID) || e.Message.check() != nil {
		return false
	}
	s.rememberID(e.Message.ID)
	e.Message.Time = e.Time
	s.Inbox = append(s.Inbox, e.Message)
	if s.Held != nil {
		s.Held = nil
		s.Turn.Began = e.Time
	}
	return true
}

// message returns what is sent of m: the text, and behind it the images.
func (m InboxMessage) message() llm.Message {
	message := llm.Message{Role: llm.User, Content: m.Text}
	for _, image := range m.Images {
		message.Parts = append(message.Parts, llm.Part{Type: "image", URL: image})
	}
	return message
}

// rememberID remembers an ID, so that what carries it counts once.
func (s *State) rememberID(id string) {
	s.SeenMessageIDs = append(s.SeenMessageIDs, id)
	if extra := len(s.SeenMessageIDs) - maxSeen; extra > 0 {
		s.SeenMessageIDs = slices.Delete(s.SeenMessageIDs, 0, extra)
	}
}

// Entry returns the number of messages that the transcript has at least when a message that steers, and comes now, enters
// the running turn: it waits for the results of open calls, and for a reply that is on its way.
func (s *State) Entry() int {
	switch {
	case len(s.Calls) > 0:
		return s.Count() + len(s.Calls)
	case s.Count() == 0:
		return 1 // behind the first message
	case s.Held == nil && !s.answered() && (s.Asked != "" || s.TooLong || s.Compacted > 0):
		return s.Count() + 1
	}
	return s.Count()
}

// steers returns the index in the inbox of the message that enters the running turn now, or -1 if there is none. No
// message enters before the first one. A user's steering message does not enter before an earlier one: after a reset, the messages that
// Temporal delivers again wait for their places, and a later message may have an earlier place or none. A message that was found
// in another run has no place in the running turn. It enters before a later steering message, or it begins a turn. In between it would
// change requests that the run that was reset has paid for.
func (s *State) steers() int {
	found, waits := -1, false
	for i, m := range s.Inbox {
		switch {
		case !m.Steer || m.Late == nil && waits:
		case m.Found:
			if found < 0 {
				found = i
			}
		case s.Count() < max(m.After, 1):
			waits = waits || m.Late == nil
		case found >= 0 && m.Late == nil:
			return found
		default:
			return i
		}
	}
	return -1
}

// nextTurn returns the message that begins the next turn: the first one, but a late result whose place in the transcript is
// known from an earlier run lets those pass that came before it there.
func (s *State) nextTurn() InboxMessage {
	i := slices.IndexFunc(s.Inbox, func(m InboxMessage) bool { return m.Late == nil || s.Count() >= m.After })
	return s.Inbox[max(i, 0)]
}

func (s *State) messageTaken(e MessageTaken) bool {
	step := s.Next()
	if find, ok := step.(FindMessages); ok {
		step = find.Then // the driver may not look for them
	}
	if step != (TakeMessage{ID: e.ID}) {
		return false
	}
	i := slices.IndexFunc(s.Inbox, func(m InboxMessage) bool { return m.ID == e.ID })
	m := s.Inbox[i]
	s.Inbox = slices.Delete(s.Inbox, i, i+1)
	if m.Fresh {
		s.Recall = false
	}
	if s.answered() || s.Count() == 0 {
		s.Turn = Turn{Number: s.Turn.Number + 1, Began: e.Time}
	}
	if m.Late != nil {
		if child := s.child(m.Late.Child); child != nil {
			child.Interrupted = false
		}
	}
	s.append(Message{Message: m.message(), Key: Key(m.ID), Time: m.Time})
	s.advanceTranscript(e.Time)
	return true
}
