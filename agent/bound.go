package agent

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/reagent-dev/reagent/internal/clip"
)

// This file checks the arguments of updates whose types have no Check method. Whoever can reach the namespace may send an update with any
// argument, and an agent keeps much of it in its state.

// CheckCall returns an error if the text is not the key of a call: [KindTool], a hyphen and 32 hexadecimal digits in lower case.
func CheckCall(key Key) error {
	if !isKey(key, KindTool) {
		return fmt.Errorf("the key %q is not the key of a call, such as tool-0123456789abcdef0123456789abcdef; list the calls again", clip.Text(string(key), 64))
	}
	return nil
}

// isKey reports whether the text is the kind, a hyphen and 32 hexadecimal digits in lower case.
func isKey(key Key, kind string) bool {
	digits, ok := strings.CutPrefix(string(key), kind+"-")
	return ok && len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

// CheckUpdateID returns an error if the text is not an ID by which an agent recognises an update that comes twice: 1 to [MaxIDBytes]
// bytes without white space and control characters.
func CheckUpdateID(id string) error {
	switch {
	case id == "" || len(id) > MaxIDBytes:
		return fmt.Errorf("the ID has %d bytes; choose an ID of 1 to %d bytes", len(id), MaxIDBytes)
	case strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return errors.New("the ID has white space or control characters; remove them")
	}
	return nil
}

// CheckPartialText returns an error if `ms`, in milliseconds, is less than 0 or more than one hour: see [PartialTextAsked].
func CheckPartialText(ms int64) error {
	if ms < 0 || ms > maxPartialText {
		return fmt.Errorf("partial text is asked for %d ms; ask for 0 to %d", ms, maxPartialText)
	}
	return nil
}
