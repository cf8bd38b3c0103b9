// Package jsonwords says in plain words why a JSON text cannot be decoded. The texts of package encoding/json name types of Go, which mean
// nothing to whoever has sent the JSON.
package jsonwords

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
)

// maxQuoted limits the bytes of a field's name, and of a number, in a text. The sender has chosen both.
const maxQuoted = 100

// Problem returns what is wrong with a JSON text, for an error of package encoding/json or of a type's own decoder. For a value of the wrong
// type, it names the field and the JSON type that is wanted: `the field "amount" must be a whole number, not a string`. The result names
// no type of Go, except in the text of a type's own decoder.
func Problem(err error) string {
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		subject := "the value"
		if mistyped.Field != "" {
			subject = fmt.Sprintf("the field %q", clip.Text(mistyped.Field, maxQuoted))
		}
		return fmt.Sprintf("%s must be %s, not %s", subject, wanted(mistyped), given(mistyped.Value))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends too early"
	}
	text, ours := strings.CutPrefix(err.Error(), "json: ")
	if ours && !strings.HasPrefix(text, "unknown field ") {
		return "a value has the wrong type" // the text names the type
	}
	return clip.Text(text, 2*maxQuoted)
}

// wanted returns the JSON values that the type takes. The range of a number is said to a sender that has sent a number.
func wanted(mistyped *json.UnmarshalTypeError) string {
	const whole = "a whole number"
	number := strings.HasPrefix(mistyped.Value, "number ")
	t := mistyped.Type
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if most := uint64(math.MaxInt64) >> (64 - t.Bits()); number {
			return fmt.Sprintf("%s from -%d to %d", whole, most+1, most)
		}
		return whole
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if number {
			return fmt.Sprintf("%s from 0 to %d", whole, uint64(math.MaxUint64)>>(64-t.Bits()))
		}
		return whole
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "of another type"
}

// given puts the field Value of a [json.UnmarshalTypeError] into plain words. The field has the kind of the JSON value, such as "array".
// For a number that does not fit, it is "number " and the number. Then given returns the number.
func given(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return clip.Text(number, maxQuoted)
	}
	return "a " + value // a string, a number
}
