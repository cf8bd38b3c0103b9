package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/reagent-dev/reagent/llm"
)

// QueuedMessage is a message to the agent. The message waits in the queue until it enters the transcript. Most
// messages come from users. The agent itself makes the messages for late results: see [LateResult].
type QueuedMessage struct {
	// ID identifies the message. The client sets it. The agent ignores a message with an ID that it has received
	// before. A client's ID has no white space and no control characters. For a late result, it is a key of the kind [KindLate], which no
	// client may use.
	ID string `json:"id"`
	// Text is the text of the message. It may be empty if there are images.
	Text string `json:"text"`
	// Images are shown to the model with the text. Each image is a web address or a data: URL. [MaxImageBytes] limits
	// the data: URLs of one message together.
	Images []string `json:"images,omitempty"`
	// Steer reports whether this is a steering message. A steering message enters the running turn before the next
	// model call. Any other message begins a turn of its own.
	Steer bool `json:"steer,omitempty"`
	// PartialText asks for the partial text of the replies, and for the output of the running tools, in the turn that takes the
	// message. Each call of this turn then reports new text about once a second.
	PartialText bool `json:"partial_text,omitempty"`
	// Actor is the sender of the message. No hash includes it.
	Actor
	// Metadata is what the sender knows about the message. It holds for the turn that takes the message.
	Metadata Metadata `json:"metadata,omitempty"`
	// Overrides change the definition for the turn that the message begins, within what the definition allows. A steering message has
	// none, because it enters a turn that is running.
	Overrides Overrides `json:"overrides,omitzero"`
	// Traceparent is the trace context of the sender, as a traceparent of W3C Trace Context. What the message causes belongs to this trace.
	// Empty means that the sender has no trace. No hash includes it.
	Traceparent string `json:"traceparent,omitempty"`
	// After is the number of messages that the transcript must have before a steering message may enter the running
	// turn. 0 means that there is no such condition. The sender sets it to the result of [State.Entry]. After a reset,
	// Temporal delivers all earlier messages at once. The number keeps each message at its position in the transcript.
	After int `json:"after,omitempty"`
	// Run contains the last characters of the ID of the run to which the message was sent. The number in the field
	// After refers to this run. Empty means that the run is not known.
	Run string `json:"run,omitempty"`
	// Fresh reports whether the message was sent to this run itself. No earlier run can have received such a message.
	// Only the driver (see [Step]) sets this field.
	Fresh bool `json:"fresh,omitempty"`
	// Found reports whether another run took the message, and this run found the message there: see [MessagesFound].
	Found bool `json:"found,omitempty"`
	// Place is the place of the message in the transcript of another run; nil if it is not known.
	// Only a search of other runs sets it: see [MessagesFound].
	Place *Place `json:"place,omitempty"`
	// Brought reports whether the message comes before all messages that a search finds in other runs: see
	// [MessagesFound]. A reset sets this field for the messages in the queue, unless an earlier search of other runs is
	// still to be done.
	Brought bool `json:"brought,omitempty"`
	// Late is the late result that the message brings; nil for any other message.
	Late *LateResult `json:"late,omitempty"`
	// Resumes reports whether the message has released a turn that a person had interrupted. Only the agent sets it.
	Resumes bool `json:"resumes,omitempty"`
	// Time is the time at which the agent received the message, in Unix milliseconds.
	Time int64 `json:"time,omitempty"`
}

// LateResult is the real result of a call that already has another result in the transcript. The call was left
// unanswered (see [ResultKind.StandsIn]), or got the failure of its sub-agent. The transcript is never edited. Therefore a late
// result enters the transcript as a message. A call gets at most one late result, with one exception. If its sub-agent
// fails late, is resumed and then answers, the call gets two: first the failure, then the answer.
type LateResult struct {
	// Call is the key of the call.
	Call Key `json:"call"`
	// Child is the key of the sub-agent. It is empty for the result of a tool.
	Child Key `json:"child,omitempty"`
	// Result is the real result of the call.
	Result Result `json:"result"`
	// At is the index at which the result begins in the text of the message.
	At int `json:"at,omitempty"`
	// For is the key of a second call for the same sub-agent, which got this result in an earlier run: see [CallRecord]. If this run
	// makes the second call, too, the second call gets the result, and the message with this late result is dropped. If this run does not
	// make it, the message enters the transcript.
	//
	// If For is empty, the next call for the same sub-agent gets the result in place of a message.
	For Key `json:"for,omitempty"`
}

// The limits on messages. All sizes are in bytes.
const (
	// MaxMessageBytes is the largest size of the text of one message.
	MaxMessageBytes = 1 << 20
	// MaxEncodedBytes is the largest size of one message with text and images, encoded as JSON. In JSON, each "<",
	// ">" and "&" takes six bytes. Temporal ends a workflow that accepts an update of more than 2 MiB, and a codec
	// may add a third to the size.
	MaxEncodedBytes = 1_500_000
	// MaxQueueBytes is the largest size of all waiting messages together, encoded as JSON.
	MaxQueueBytes = 8_000_000
	// MaxQueue is the largest number of waiting messages. At this number, the driver (see [Step]) refuses new
	// messages. The state accepts more: after a reset, Temporal delivers all earlier messages at once, and none of
	// them may be lost.
	MaxQueue = 100
	// MaxImages is the largest number of images in a message.
	MaxImages = 10
	// MaxImageBytes is the largest total size of the images that one message contains as data: URLs. The size counts
	// the bytes of the images. Their data: URLs are a third longer.
	MaxImageBytes = 1 << 20
	// MaxIDBytes is the largest size of the ID of a message.
	MaxIDBytes = 200

	maxURLBytes = 2000
	// maxSeen is the number of IDs of each kind that the agent remembers.
	maxSeen = 10_000
)

// Errors for a message that an agent does not accept.
var (
	// ErrEnded means that the agent has ended.
	ErrEnded = errors.New("the agent has ended; start a new agent, or resume or fork this one")
	// ErrClosing means that the agent finishes its work and takes no more messages.
	ErrClosing = errors.New("the agent is closing and takes no more messages; start a new agent")
	// ErrQueueFull means that too many messages wait: see [MaxQueue] and [MaxQueueBytes].
	ErrQueueFull = fmt.Errorf("the queue is full: the limit is %d waiting messages, or %d MB of them; send the message again when the agent has taken some",
		MaxQueue, MaxQueueBytes/1_000_000)
	// ErrMessage means that the message is invalid. An error that wraps ErrMessage says what is wrong.
	ErrMessage = errors.New("invalid message")
)

// CheckMessage returns an error if the message is invalid. No agent ever accepts an invalid message. The error wraps
// [ErrMessage] and says what is wrong.
func CheckMessage(m QueuedMessage) error {
	if err := m.check(); err != nil {
		return err
	}
	if strings.ContainsFunc(m.ID, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%w: the id %q has white space or control characters; use letters, digits and punctuation only", ErrMessage, m.ID)
	}
	if m.Steer && !m.Overrides.Equal(Overrides{}) {
		return fmt.Errorf("%w: a steering message enters the running turn, so it cannot have overrides; send it without \"steer\"", ErrMessage)
	}
	if size := m.EncodedBytes(); size > MaxEncodedBytes {
		return fmt.Errorf("%w: the message has %d bytes when encoded as JSON, in which \"<\", \">\" and \"&\" take 6 bytes each; the limit is %d: "+
			"put long material into a file that a tool can read", ErrMessage, size, MaxEncodedBytes)
	}
	return nil
}

// EncodedBytes returns the size of the message in a payload, in bytes. Temporal's SDK encodes the message as JSON.
func (m QueuedMessage) EncodedBytes() int {
	text, err := json.Marshal(m)
	if err != nil { // no value of this type causes an error
		panic("agent: " + err.Error())
	}
	return len(text)
}

// check makes those checks of [CheckMessage] that also apply to old messages in histories. It must never become
// stricter. A replay must accept every message that was accepted before.
func (m QueuedMessage) check() error {
	switch {
	case m.ID == "" || len(m.ID) > MaxIDBytes:
		return fmt.Errorf("%w: the field \"id\" has %d bytes; choose an ID of 1 to %d bytes", ErrMessage, len(m.ID), MaxIDBytes)
	case strings.TrimSpace(m.Text) == "" && len(m.Images) == 0:
		return fmt.Errorf("%w: the field \"text\" is empty and there are no images; set one of them", ErrMessage)
	case len(m.Text) > MaxMessageBytes:
		return fmt.Errorf("%w: the field \"text\" has %.1f MB; the limit is %d MiB: put long material into a file that a tool can read",
			ErrMessage, float64(len(m.Text))/1e6, MaxMessageBytes>>20)
	case Key(m.ID).Kind() == KindLate:
		return fmt.Errorf("%w: the field \"id\" begins with %q; choose another ID: only an agent makes such IDs", ErrMessage, KindLate+"-")
	case m.Late != nil:
		return fmt.Errorf("%w: the field \"late\" is set; leave it out: only an agent sets it", ErrMessage)
	case m.After < 0:
		return fmt.Errorf("%w: the field \"after\" is %d; it must be 0 or more", ErrMessage, m.After)
	}
	if err := cmp.Or(checkActor("sender", m.Actor), m.Metadata.Check(), m.Overrides.checkOfMessage(), checkTraceparent(m.Traceparent)); err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return checkImages(m)
}

func checkImages(m QueuedMessage) error {
	if len(m.Images) > MaxImages {
		return fmt.Errorf("%w: there are %d images; the limit is %d: send fewer images", ErrMessage, len(m.Images), MaxImages)
	}
	inline := 0
	for i, image := range m.Images {
		switch {
		case strings.HasPrefix(image, "data:image/"):
			inline += len(image)
		case strings.HasPrefix(image, "https://"), strings.HasPrefix(image, "http://"):
			if len(image) > maxURLBytes {
				return fmt.Errorf("%w: the address of image %d has %d bytes; the limit is %d: use a shorter address", ErrMessage, i+1, len(image), maxURLBytes)
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

// Accepts returns an error if the agent does not accept the message m now. An agent that has not ended accepts a message that it has
// received before, because the second delivery changes nothing. Accepts does not check [MaxQueue] and [MaxQueueBytes]. The driver (see
// [Step]) checks them.
func (s *State) Accepts(m QueuedMessage) error {
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

// Has reports whether the agent has received a message with the given ID. The agent remembers the newest 10,000 IDs.
func (s *State) Has(messageID string) bool { return slices.Contains(s.SeenMessageIDs, messageID) }

// QueueBytes returns the size of all waiting messages together, in bytes of JSON.
func (s *State) QueueBytes() int {
	size := 0
	for _, m := range s.Queue {
		size += m.EncodedBytes()
	}
	return size
}

// apply puts a message into the queue. A turn that is held goes on: see [Hold]. If the message is invalid,
// or the agent has received its ID before, apply does nothing and returns false. An agent that is closing
// still accepts messages here. The reason is a reset: after it, Temporal delivers earlier messages and a later close at
// once, in any order. The driver (see [Step]) refuses a message that is sent after a close.
func (e MessageReceived) apply(s *State) bool {
	if e.Message.check() != nil || !see(&s.SeenMessageIDs, e.Message.ID) {
		return false
	}
	e.Message.Time, e.Message.Resumes = e.Time, s.Hold != nil && s.Hold.Class == Interrupted
	s.Queue = append(s.Queue, e.Message)
	if s.Hold != nil {
		if s.Hold.Class == Interrupted {
			if len(s.guardrails(TextMessage)) > 0 {
				s.Released = s.Hold
			}
			s.Queue[len(s.Queue)-1].Steer = true // the model gets the message before the turn goes on
			for i := range s.Queue {
				if m := &s.Queue[i]; m.Steer && m.Late == nil {
					m.After = 0 // an earlier message must not wait for a reply that the interrupt has stopped
				}
			}
		}
		s.Hold = nil
		s.Turn.Began, s.Turn.Trace = e.Time, e.Message.trace(e.Time)
	}
	return true
}

// trace returns the trace of what the message causes from now on.
func (m QueuedMessage) trace(now int64) TurnTrace {
	return TurnTrace{Message: m.ID, Parent: m.Traceparent, Began: now}
}

// message returns m as a message to the model: first the text, then the images.
func (m QueuedMessage) message() llm.Message {
	message := llm.Message{Role: llm.User, Content: m.Text}
	for _, image := range m.Images {
		message.Parts = append(message.Parts, llm.Part{Type: "image", URL: image})
	}
	return message
}

// see adds the ID of a message or of another update to the IDs that the agent has seen. It returns false if the ID is among them, because
// a second delivery has no effect. The newest [maxSeen] IDs stay.
func see(seen *[]string, id string) bool {
	if slices.Contains(*seen, id) {
		return false
	}
	*seen = append(*seen, id)
	if extra := len(*seen) - maxSeen; extra > 0 {
		*seen = slices.Delete(*seen, 0, extra)
	}
	return true
}

// Entry returns the earliest position for a steering message that is sent now. A position is a number of messages. The
// steering message enters the running turn only after this many messages of the transcript. The number includes the
// results of open calls and the reply to a model call in flight, because the steering message enters after them. The
// sender puts the number into [QueuedMessage].After.
func (s *State) Entry() int {
	switch {
	case len(s.Calls) > 0:
		return s.Count() + len(s.Calls)
	case s.Withheld != nil:
		return s.Count() + 1 // after the answer
	case s.Count() == 0:
		return 1 // after the first message
	case s.Hold == nil && !s.answered() && (s.InFlight != "" || s.TooLong || s.Compacted > 0):
		return s.Count() + 1
	}
	return s.Count()
}

// steers chooses the steering message that enters the running turn now. It returns the index of this message in the
// queue; -1 if there is none. These are the rules:
//
//   - A message enters only when the transcript has at least as many messages as the message's field After says. It
//     never enters as the first message of the transcript.
//   - A user's steering message never overtakes an earlier one. If the earlier message has to wait for its position,
//     the later message waits, too.
//   - A message that another run has taken enters where it entered there: see [Place]. The following rules hold for it
//     only if the transcript has become longer without it.
//   - A message that was found in another run, and that no run has taken, enters directly before a later steering message of a user, or
//     begins a turn. Anywhere else, it would change requests that the earlier run, before the reset, has already sent.
func (s *State) steers() int {
	if i := s.inPlace(); i >= 0 {
		return i
	}
	found, waits := -1, false
	for i, m := range s.Queue {
		switch {
		case !m.Steer || m.Late == nil && waits:
		case s.awaitsPlace(m):
			waits = waits || m.Late == nil
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

// nextTurn returns the message that begins the next turn. This is the first message in the queue that need not wait.
// Only a late result (see [LateResult]) may have to wait, until the transcript has as many messages as its field
// After says. If all messages have to wait, nextTurn returns the first one. The queue must not be empty.
func (s *State) nextTurn() QueuedMessage {
	i := slices.IndexFunc(s.Queue, func(m QueuedMessage) bool { return m.Late == nil || s.Count() >= m.After })
	return s.Queue[max(i, 0)]
}

func (e MessageTaken) apply(s *State) bool {
	if s.Next() != (TakeMessage{ID: e.ID}) {
		return false
	}
	i := slices.IndexFunc(s.Queue, func(m QueuedMessage) bool { return m.ID == e.ID })
	m := s.Queue[i]
	s.Queue = slices.Delete(s.Queue, i, i+1)
	s.Released = nil
	if m.Fresh {
		s.Recall = false
	}
	overrides := s.overridesOf(m)
	begins := s.answered() || s.Count() == 0
	switch {
	case begins:
		s.Turn = Turn{Number: s.Turn.Number + 1, Began: e.Time, Before: s.Spent(), Trace: m.trace(e.Time)}
		s.override(overrides)
	case overrides != nil: // a person has interrupted the turn before
		s.override(overrides)
	}
	s.Turn.PartialText = s.Turn.PartialText || m.PartialText
	s.Turn.Metadata = s.Turn.Metadata.after(m.Metadata, m.Late == nil)
	if m.Late != nil {
		if child := s.child(m.Late.Child); child != nil {
			child.attach()
		}
	}
	message := Message{Message: m.message(), Key: Key(m.ID), Sender: m.sender(), Metadata: m.Metadata, Overrides: m.Overrides, Time: m.Time}
	message.Steer = !begins && !m.Resumes && m.Late == nil
	if t := s.check(TextMessage, Key(m.ID)); t != nil {
		message.Content, message.Verdicts = t.Text, t.Verdicts
		s.dropCheck(TextMessage, Key(m.ID))
	}
	if m.Late != nil {
		message.Result, message.ResultAt = m.Late.Result.Kind, m.Late.At
	}
	s.append(message)
	s.advanceTranscript(e.Time)
	return true
}
