// Package exact reads JSON from outside under exact names. Package encoding/json also takes "TASK" and "ta\u017fk", with a long s, for
// the field "task", and takes the last of several members. So a program could act on another value than a person has read, or than
// another decoder has checked.
//
// Use it for JSON that models, tools and senders have written. JSON that this project has written itself does not need it. Package llm
// reads the replies of model endpoints leniently, because what the model writes is only text in them.
package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
)

// Mode says what becomes of the members for which a struct has no field. The zero Mode refuses them.
type Mode int

const (
	// Open ignores unknown members. It refuses a member whose name differs from that of a field only by upper and lower case, or by a
	// letter such as the long s.
	Open Mode = 1 << iota
	// Foreign ignores all unknown members, also those that Open refuses, because a foreign program may have reasons of its own for such
	// names. Of several members with the same name, the last one counts.
	Foreign
	// Numbers decodes a number into a [json.Number] if its place is of the type any.
	Numbers
)

// maxQuoted limits the bytes of a name in an error, because the sender has chosen the name.
const maxQuoted = 100

// Decode decodes a text with one JSON value into the value to which v points, as [json.Unmarshal] does. The difference: each member of an
// object goes to the struct field with exactly its name, and Decode returns an error if a struct's object has a name twice. With
// [Foreign], there is no such error. A type that decodes itself gets its JSON unchanged.
//
// The errors of this package name no Go type. Those of encoding/json, which Decode also returns, may.
func Decode(text []byte, v any, mode Mode) error {
	if target := reflect.TypeOf(v); target != nil && target.Kind() == reflect.Pointer && json.Valid(text) {
		var err error
		if text, err = plain(text, target.Elem(), mode); err != nil {
			return err
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if mode&(Open|Foreign) == 0 {
		d.DisallowUnknownFields()
	}
	if mode&Numbers != 0 {
		d.UseNumber()
	}
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the members of the JSON object in a text, in their order. A name may be there twice. The value null has no members. Any
// other text that is not a JSON object is an error.
func Members(text []byte) ([]Member, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	var all []Member
	d := json.NewDecoder(bytes.NewReader(text))
	for _, _ = d.Token(); d.More(); { // the text is valid JSON
		token, _ := d.Token()
		var m Member
		m.Name, _ = token.(string)
		_ = d.Decode(&m.Value)
		all = append(all, m)
	}
	return all, nil
}

// Twice returns a name that more than one of the members has; "" if there is none. A decoder would take the last of them.
func Twice(members []Member) string {
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m.Name] {
			return m.Name
		}
		seen[m.Name] = true
	}
	return ""
}

var (
	decodesItself = reflect.TypeFor[json.Unmarshaler]()
	decodesText   = reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()
)

// plain checks the names in a JSON text against the type t, into which the text is to be decoded: see [Mode]. It returns the text without
// the members that it ignores. Package encoding/json could decode such a member into a field with another name.
func plain(text json.RawMessage, t reflect.Type, mode Mode) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	first, pointer := bytes.TrimLeft(text, " \t\r\n")[0], reflect.PointerTo(t)
	switch {
	case pointer.Implements(decodesItself) || pointer.Implements(decodesText):
		return text, nil
	case t.Kind() == reflect.Struct && first == '{':
		return plainStruct(text, t, mode)
	case t.Kind() == reflect.Map && first == '{':
		members, err := Members(text)
		if err != nil {
			return nil, err
		}
		for i := range members {
			if members[i].Value, err = plain(members[i].Value, t.Elem(), mode); err != nil {
				return nil, err
			}
		}
		return Object(members), nil
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && first == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		for i, element := range list {
			var err error
			if list[i], err = plain(element, t.Elem(), mode); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	}
	return text, nil // a value of the wrong type, which the decoder refuses
}

func plainStruct(text json.RawMessage, t reflect.Type, mode Mode) (json.RawMessage, error) {
	members, err := Members(text)
	if err != nil {
		return nil, err
	}
	if name := Twice(members); name != "" && mode&Foreign == 0 {
		return nil, fmt.Errorf("the field %q is given twice", clip.Text(name, maxQuoted))
	}
	known := map[string]reflect.Type{}
	fields(t, known, map[reflect.Type]bool{})
	kept := members[:0]
	for _, m := range members {
		field, exact := known[m.Name]
		folded := ""
		for name := range known {
			if !exact && strings.EqualFold(name, m.Name) {
				folded = name
			}
		}
		switch {
		case exact:
			if m.Value, err = plain(m.Value, field, mode); err != nil {
				return nil, err
			}
		case mode&Foreign != 0:
			continue
		case folded != "":
			return nil, fmt.Errorf("unknown field %q: the name is %q", clip.Text(m.Name, maxQuoted), folded)
		}
		kept = append(kept, m)
	}
	return Object(kept), nil
}

// Object returns the JSON object with the given members, in their order. Their values must be JSON. Names are not escaped for HTML.
func Object(members []Member) json.RawMessage {
	var out bytes.Buffer
	names := json.NewEncoder(&out)
	names.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		_ = names.Encode(m.Name) // a text can be encoded
		out.Truncate(out.Len() - len("\n"))
		out.WriteByte(':')
		out.Write(m.Value)
	}
	out.WriteByte('}')
	return out.Bytes()
}

// fields adds the types of the fields of the struct t to `known`, by the names of the fields in JSON. It includes the fields of embedded
// structs. `seen` has the structs whose fields are already in `known`.
func fields(t reflect.Type, known map[string]reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	var embedded []reflect.Type
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, inner)
		case !f.IsExported():
		case name != "":
			known[name] = f.Type
		default:
			known[f.Name] = f.Type
		}
	}
	for _, inner := range embedded { // the outer fields hide those
		more := map[string]reflect.Type{}
		fields(inner, more, seen)
		for name, field := range more {
			if _, hidden := known[name]; !hidden {
				known[name] = field
			}
		}
	}
}
