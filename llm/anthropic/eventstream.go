package anthropic

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// amazonStream is the Content-Type of a stream of Bedrock.
const amazonStream = "application/vnd.amazon.eventstream"

// The limits of a frame, in bytes. The library checks none: a frame may announce up to 4 GiB.
const (
	// maxFrame is more than an event of [endpoint.MaxReply] bytes needs in Base64.
	maxFrame = 16 << 20
	// maxFrameHeaders is much more than the three short headers of a frame need.
	maxFrameHeaders = 128 << 10
	// frameOverhead is the size of a frame without headers and without payload: its two lengths and their two checksums.
	frameOverhead = 16
	// framePrelude is the size of the two lengths.
	framePrelude = 8
)

// frames reads the events of a stream in Amazon's binary encoding. A frame of the type "event" has one event of the Messages API, in
// Base64. A frame of the type "exception" or "error" ends the stream. The names of the headers are those of the library's package
// eventstreamapi, which is not imported, because it would bring Amazon's HTTP client along.
type frames struct {
	in      *bufio.Reader
	decoder *eventstream.Decoder
	payload []byte // the memory of the last payload, which the next one uses again
}

// amazonEvents returns the events of a stream in Amazon's encoding; nil for another Content-Type, such as that of a proxy.
func amazonEvents(header http.Header, body *bufio.Reader) endpoint.Source {
	if kind, _, _ := strings.Cut(header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(kind), amazonStream) {
		return nil
	}
	return &frames{in: body, decoder: eventstream.NewDecoder()}
}

// Next implements [endpoint.Source].
func (f *frames) Next() (endpoint.Event, error) {
	for {
		message, err := f.next()
		if err != nil {
			return endpoint.Event{}, err
		}
		switch textOf(message, ":message-type") {
		case "event":
			if textOf(message, ":event-type") != "chunk" {
				continue
			}
			data, err := chunkOf(message.Payload)
			if err != nil || len(data) > 0 {
				return endpoint.Event{Data: data}, err
			}
		case "exception":
			return problem(textOf(message, ":exception-type"), toldIn(message.Payload)), nil
		case "error":
			return problem(textOf(message, ":error-code"), textOf(message, ":error-message")), nil
		}
	}
}

// chunkOf returns the event of the Messages API in the payload of a frame.
func chunkOf(payload []byte) ([]byte, error) {
	var part struct {
		Bytes []byte `json:"bytes"`
	}
	if err := json.Unmarshal(payload, &part); err != nil {
		return nil, fmt.Errorf("a frame of the stream cannot be read: %w", err)
	}
	return bytes.TrimSpace(part.Bytes), nil
}

// toldIn returns the message of an exception, with that of the model if there is one. It returns "" if the payload cannot be read, because
// the type of the exception says enough.
func toldIn(payload []byte) string {
	var told struct {
		Message  string `json:"message"`
		Original string `json:"originalMessage"`
	}
	_ = json.Unmarshal(payload, &told)
	if told.Original == "" {
		return told.Message
	}
	return told.Message + ": " + told.Original
}

// next returns the next frame.
func (f *frames) next() (eventstream.Message, error) {
	start, err := f.in.Peek(framePrelude)
	switch {
	case len(start) == 0:
		return eventstream.Message{}, err
	case err != nil:
		return eventstream.Message{}, unexpected(err)
	}
	size, headers := binary.BigEndian.Uint32(start), binary.BigEndian.Uint32(start[4:])
	if size > maxFrame {
		return eventstream.Message{}, endpoint.ErrTooLarge
	}
	if headers > maxFrameHeaders || size < headers+frameOverhead {
		return eventstream.Message{}, errors.New("a frame of the stream has a length that is not valid")
	}
	message, err := f.decoder.Decode(f.in, f.payload)
	if err != nil {
		return message, unexpected(err)
	}
	f.payload = message.Payload[:0]
	return message, nil
}

// unexpected returns the error for an end of the stream within a frame.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// textOf returns the text of a frame's header; "" if there is none.
func textOf(m eventstream.Message, name string) string {
	if text, ok := m.Headers.Get(name).(eventstream.StringValue); ok {
		return string(text)
	}
	return ""
}

// problem returns the event of the Messages API for an error in a stream. Its type is the name of the exception, such as
// "throttlingException". The names are in Amazon's API reference, ResponseStream.
func problem(kind, message string) endpoint.Event {
	data, _ := endpoint.Encode(map[string]any{ // texts have a JSON form
		"type": "error", "error": map[string]string{"type": kind, "message": clip.Text(strings.ToValidUTF8(message, "\uFFFD"), maxRefusal)},
	})
	return endpoint.Event{Name: "error", Data: data}
}
