package client

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// ErrEncoded says that a payload, or the text of a failure, is encoded, and that the client cannot decode it: it has no codec, or its codec
// lacks the key.
var ErrEncoded = errors.New("encoded by a codec that this program does not have")

const (
	// encodedFailure is the message that the SDK gives to a failure whose text it has encoded. It stays if the text cannot be decoded.
	encodedFailure = "Encoded failure"
	// needsCodec is what to do. The starter has only the first two of the three.
	needsCodec = "give this program the codec and the keys of the workers: set REAGENT_ENCRYPTION_KEYS_FILE to the file with the keys, or TEMPORAL_CODEC_ENDPOINT to the codec server of the namespace, or in Go use the ClientPlugin of the workers"
)

// failureText returns the text of a failure. If the text could not be decoded, failureText says so instead.
func failureText(text string) string {
	if text == encodedFailure {
		return "the text of the failure is encoded; " + needsCodec
	}
	return text
}

// encoded returns an error that wraps [ErrEncoded] if err is about something that could not be decoded; nil if not.
func encoded(operation string, err error) error {
	failed, _ := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case errors.Is(err, ErrEncoded):
		return err
	case errors.Is(err, converter.ErrEncodingIsNotSupported):
		return &agentError{fmt.Sprintf("%s: %v: a codec has encoded it; %s", operation, err, needsCodec), []error{ErrEncoded, err}}
	case failed != nil && failed.Message() == encodedFailure:
		return &agentError{fmt.Sprintf("%s: %s", operation, failureText(encodedFailure)), []error{ErrEncoded, err}}
	}
	return nil
}
