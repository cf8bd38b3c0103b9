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

// InboxMessage is a message that waits in the inbox to enter the transcript.
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
	// After is the number of messages that the transcript must have before a steering message may enter the running
	// turn. Zero means that there is no such condition. Senders set it to the result of [State.Entry]. After is needed
	// for a reset. Temporal then delivers all earlier messages at once, and After keeps each steering message at its old
	// position in the transcript.
	After int `json:"after,omitempty"`
	// Run is the end of the ID of the run to which the sender sent the message. The sender has the value of After from
	// the same run. Empty means that the run is not known.
	Run string `json:"run,omitempty"`
	// Fresh says that the message was sent to this run, so no earlier run can have had it. Only the driver sets it.
	Fresh bool `json:"fresh,omitempty"`
	// Found says that another run took the message, and this run found it there: see [MessagesFound].
	Found bool `json:"found,omitempty"`
	// Brought says that the message was in the inbox when a run began by a reset, and that no search of other runs was
	// still to be done at that moment. The message is then older than all messages that other runs took.
	Brought bool `json:"brought,omitempty"`
	// Late is set if the message carries a late result.
	Late *LateResult `json:"late,omitempty"`
	// Time is the time at which the agent received the message, in Unix milliseconds.
	Time int64 `json:"time,omitempty"`
}

// LateResult is a result that came after its call had been answered as interrupted, or with the failure of its
// sub-agent.
type LateResult struct {
	Call   Key    `json:"call"`
	Child  Key    `json:"child,omitempty"`
	Result Result `json:"result"`
	// For is the key of a second call, which asked for the same sub-agent in an earlier run and got this result there. If
	// this run also makes the second call, that call recalls the result, and the message with this LateResult is dropped.
	// If this run does not make the second call, the message enters the transcript. If For is empty, the result goes to
	// the next call that asks for the same sub-agent.
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

// Accepts returns the reason why the agent would not accept m now. It returns nil if the agent would accept m, or if
// the agent has not ended and has received m before. Accepts does not check [MaxInbox] and [MaxInboxBytes]; the driver
// does.
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

// messageReceived puts a message into the inbox. It does so even if the agent is closing, because a reset delivers
// messages and a later close at once, in any order. The driver refuses a message that is sent after a close. If the
// agent has received the ID before, or the message is invalid, messageReceived does nothing and returns false.
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

// message returns the message to the model: the text, and after it the images.
func (m InboxMessage) message() llm.Message {
	message := llm.Message{Role: llm.User, Content: m.Text}
	for _, image := range m.Images {
		message.Parts = append(message.Parts, llm.Part{Type: "image", URL: image})
	}
	return message
}

// rememberID records an ID, so that a message or update with this ID has an effect only once. It keeps the newest
// maxSeen IDs.
func (s *State) rememberID(id string) {
	s.SeenMessageIDs = append(s.SeenMessageIDs, id)
	if extra := len(s.SeenMessageIDs) - maxSeen; extra > 0 {
		s.SeenMessageIDs = slices.Delete(s.SeenMessageIDs, 0, extra)
	}
}

// Entry returns the value of [InboxMessage].After for a steering message that is sent now. It is the smallest number of
// messages that the transcript can have when the message enters the running turn. A steering message enters after the
// results of open calls and after the reply to the running model call, so Entry counts these, too.
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
// A message may enter only when the transcript has at least as many messages as the message's field After says, and
// never before the first message of the transcript.
//
// A user's steering message never overtakes an earlier steering message of a user. After a reset, the earlier message
// may still have to wait when the later message could already enter. The later message then waits, too.
//
// The field After is always 0 in a message that was found in another run. Such a message enters directly before a later
// steering message of a user, or it begins a turn. Anywhere else in the running turn, it would change requests for
// which the run that was reset has already paid.
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

// nextTurn returns the message that begins the next turn. It is the first message in the inbox, with one exception: a
// late result waits until the transcript has as many messages as its field After says, and until then later messages
// overtake it. If the inbox has only late results that wait, nextTurn returns the first of them. The inbox must not be
// empty.
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
