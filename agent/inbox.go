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

// InboxMessage is a message to the agent. It waits in the inbox until it enters the transcript. Most messages come from
// users; the agent itself makes a message for a late result.
type InboxMessage struct {
	// ID is set by the client. The agent drops a message whose ID it has received before. The ID of a client's message
	// has no white space and no control characters. An ID that this package makes has a space, so it never equals the
	// ID of a client's message.
	ID   string `json:"id"`
	Text string `json:"text"`
	// Images are shown to the model with the text. Each is a web address or a data: URL. The data: URLs of one message
	// may have MaxImageBytes together.
	Images []string `json:"images,omitempty"`
	// Steer makes this a steering message: it enters the running turn before the next model call. Without Steer, the
	// message begins a turn of its own.
	Steer bool `json:"steer,omitempty"`
	// After keeps a steering message at its position in the transcript after a reset, when Temporal delivers all
	// earlier messages at once. It is the number of messages that the transcript must have before the message may enter
	// the running turn. 0 means that there is no such condition. Senders set it to the result of [State.Entry].
	After int `json:"after,omitempty"`
	// Run is the end of the ID of the run to which the sender sent the message. The value of After was read from this
	// run. Empty means that the run is not known.
	Run string `json:"run,omitempty"`
	// Fresh says that the message was sent to this run, so no earlier run can have had it. Only the driver sets it.
	Fresh bool `json:"fresh,omitempty"`
	// Found says that another run took the message, and this run found it there: see [MessagesFound].
	Found bool `json:"found,omitempty"`
	// Brought says that the message is older than all messages that other runs took. It is set when a run begins by a
	// reset and has the message in its inbox. It is not set while a search of other runs is still to be done.
	Brought bool `json:"brought,omitempty"`
	// Late is set if the message brings a late result.
	Late *LateResult `json:"late,omitempty"`
	// Time is the time at which the agent received the message, in Unix milliseconds.
	Time int64 `json:"time,omitempty"`
}

// LateResult is the real result of a call that already has another result in the transcript. The call was answered as
// interrupted (see [Result].Interrupted) or with the failure of its sub-agent. The transcript is never edited, so a
// late result enters it as a message. A call gets at most one late result, with one exception: a sub-agent may fail
// late, be resumed, and then answer.
type LateResult struct {
	Call   Key    `json:"call"`
	Child  Key    `json:"child,omitempty"`
	Result Result `json:"result"`
	// For is set only if the result was recalled from an earlier run (see [Recalled]) in which a second call for the
	// same sub-agent got it. For is the key of this second call. If this run makes the second call, too, the call
	// recalls the result itself, and the message with this LateResult is dropped. Otherwise, the message enters the
	// transcript. If For is empty, the next call that asks for the same sub-agent gets the result.
	For Key `json:"for,omitempty"`
}

// The limits on messages. All sizes are in bytes.
const (
	// MaxMessageBytes is the largest size of the text of one message.
	MaxMessageBytes = 1 << 20
	// MaxEncodedBytes is the largest size of one message, with text and images, as Temporal stores it. Temporal stores
	// JSON, in which "<", ">" and "&" take six bytes each. Temporal ends a workflow that accepts an update of more than
	// 2 MiB, and a codec may add a third to the size.
	MaxEncodedBytes = 1_500_000
	// MaxInboxBytes is the largest size of all waiting messages together, encoded as JSON.
	MaxInboxBytes = 8_000_000
	// MaxInbox is the number of waiting messages at which the driver refuses new ones. The core accepts more: after a
	// reset, Temporal delivers all earlier messages at once, and none of them may be lost.
	MaxInbox = 100
	// MaxImages is the largest number of images in a message. MaxImageBytes is the largest total size of the images
	// that the message itself contains as data: URLs. It counts the bytes of the images; the data: URLs are a third
	// longer.
	MaxImages     = 10
	MaxImageBytes = 1 << 20
	// MaxIDBytes is the largest length of a message's ID.
	MaxIDBytes = 200

	maxURLBytes = 2000
	maxSeen     = 10_000
)

// Errors for a message that an agent does not accept. An error that wraps ErrMessage says what is wrong with the
// message.
var (
	ErrEnded     = errors.New("the agent has ended")
	ErrClosing   = errors.New("the agent is closing and takes no more messages")
	ErrInboxFull = fmt.Errorf("the inbox is full: the limit is %d waiting messages, or %d MB of them; send the message again when the agent has taken some",
		MaxInbox, MaxInboxBytes/1_000_000)
	ErrMessage = errors.New("invalid message")
)

// CheckMessage returns an error if the message is invalid, which means that no agent accepts it in any state. The error
// wraps [ErrMessage] and says what is wrong.
func CheckMessage(m InboxMessage) error {
	if err := m.check(); err != nil {
		return err
	}
	if strings.ContainsFunc(m.ID, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%w: the id %q has white space or control characters; use letters, digits and punctuation only", ErrMessage, m.ID)
	}
	if size := m.EncodedBytes(); size > MaxEncodedBytes {
		return fmt.Errorf("%w: the message has %d bytes when encoded as JSON, in which \"<\", \">\" and \"&\" take 6 bytes each; the limit is %d: "+
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

// check is the part of [CheckMessage] that also applies to messages in the histories of earlier versions. It must never
// become stricter: a replay must accept every message that was accepted before.
func (m InboxMessage) check() error {
	switch {
	case m.ID == "" || len(m.ID) > MaxIDBytes:
		return fmt.Errorf("%w: the field \"id\" has %d bytes; it must have 1 to %d", ErrMessage, len(m.ID), MaxIDBytes)
	case strings.TrimSpace(m.Text) == "" && len(m.Images) == 0:
		return fmt.Errorf("%w: the field \"text\" is empty and there are no images; set one of them", ErrMessage)
	case len(m.Text) > MaxMessageBytes:
		return fmt.Errorf("%w: the field \"text\" has %.1f MB; the limit is %d MiB: put long material into a file that a tool can read",
			ErrMessage, float64(len(m.Text))/1e6, MaxMessageBytes>>20)
	case m.Late != nil:
		return fmt.Errorf("%w: the field \"late\" is set; leave it out: only an agent sets it", ErrMessage)
	case m.After < 0:
		return fmt.Errorf("%w: the field \"after\" is %d; it must be 0 or more", ErrMessage, m.After)
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
			return fmt.Errorf("%w: image %d is neither a web address nor a data: URL of an image; give one of them", ErrMessage, i+1)
		}
	}
	// The images and the text must fit into one payload.
	if limit := MaxImageBytes * 4 / 3; inline > limit+100 || inline > 0 && inline+len(m.Text) > limit+MaxMessageBytes/4 {
		return fmt.Errorf("%w: the images and the text have %.1f MB together; the limit is %d MiB: give web addresses instead of data: URLs",
			ErrMessage, float64(inline*3/4+len(m.Text))/1e6, MaxImageBytes>>20)
	}
	return nil
}

// Accepts returns nil if the agent accepts the message m now. Otherwise, the error says why it does not. As long as the
// agent has not ended, it accepts a message that it has received before; the second delivery changes nothing. Accepts
// does not check [MaxInbox] and [MaxInboxBytes]; the driver does.
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

// Has reports whether the agent has received a message with the given ID. It knows the newest 10,000 IDs.
func (s *State) Has(messageID string) bool { return slices.Contains(s.SeenMessageIDs, messageID) }

// InboxBytes returns the size of all waiting messages together, encoded as JSON.
func (s *State) InboxBytes() int {
	size := 0
	for _, m := range s.Inbox {
		size += m.EncodedBytes()
	}
	return size
}

// messageReceived puts a message into the inbox. If the turn is held, it goes on: see [Held]. If the agent has received
// the message ID before, or the message is invalid, messageReceived does nothing and returns false. It accepts a
// message even if the agent is closing, because a reset delivers earlier messages and a later close at once, in any
// order. The driver refuses a message that is sent after a close.
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

// message returns m as a message to the model: the text, and after it the images.
func (m InboxMessage) message() llm.Message {
	message := llm.Message{Role: llm.User, Content: m.Text}
	for _, image := range m.Images {
		message.Parts = append(message.Parts, llm.Part{Type: "image", URL: image})
	}
	return message
}

// rememberID records the ID of a message or of another update, so that a second delivery has no effect. It keeps the
// newest maxSeen IDs.
func (s *State) rememberID(id string) {
	s.SeenMessageIDs = append(s.SeenMessageIDs, id)
	if extra := len(s.SeenMessageIDs) - maxSeen; extra > 0 {
		s.SeenMessageIDs = slices.Delete(s.SeenMessageIDs, 0, extra)
	}
}

// Entry returns the smallest number of messages that the transcript can have when a steering message that is sent now
// enters the running turn. The sender puts this number into [InboxMessage].After. A steering message enters after the
// results of open calls and after the reply to a model call in flight, so Entry counts these, too.
func (s *State) Entry() int {
	switch {
	case len(s.Calls) > 0:
		return s.Count() + len(s.Calls)
	case s.Count() == 0:
		return 1 // after the first message
	case s.Held == nil && !s.answered() && (s.Asked != "" || s.TooLong || s.Compacted > 0):
		return s.Count() + 1
	}
	return s.Count()
}

// steers returns the index in the inbox of the steering message that enters the running turn now; -1 if there is none.
// It follows these rules:
//
//   - A message enters only when the transcript has at least as many messages as the message's field After says, and
//     never as the first message of the transcript.
//   - A user's steering message never overtakes an earlier one. After a reset, the earlier message may still have to
//     wait for its position. Then the later message waits, too.
//   - A message that was found in another run enters directly before a later steering message of a user, or it begins a
//     turn. Anywhere else in the running turn, it would change requests for which the run that was reset has already
//     paid.
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

// nextTurn returns the message that begins the next turn. This is the first message in the inbox that need not wait.
// Only a late result may have to wait: until the transcript has as many messages as its field After says. If all
// messages in the inbox have to wait, nextTurn returns the first of them. The inbox must not be empty.
func (s *State) nextTurn() InboxMessage {
	i := slices.IndexFunc(s.Inbox, func(m InboxMessage) bool { return m.Late == nil || s.Count() >= m.After })
	return s.Inbox[max(i, 0)]
}

func (s *State) messageTaken(e MessageTaken) bool {
	step := s.Next()
	if find, ok := step.(FindMessages); ok {
		step = find.Then // the driver may skip the search
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
