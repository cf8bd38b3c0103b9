package encryption

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keyBytes is the length of a key that encrypts, in bytes: AES-256.
const keyBytes = 32

// makeKey is how to get a key.
const makeKey = "32 random bytes in base64, such as the output of `openssl rand -base64 32`"

// Keys are the keys of the programs `worker` and `starter`.
type Keys struct {
	// Active is the ID of the key that encrypts.
	Active string
	// IDs has the IDs of all keys, sorted.
	IDs []string
	// Codec encrypts with the keys.
	Codec *Codec

	secrets []string
}

// Secrets returns the keys as they may stand in a text, so that a log can hide them. It returns nil for nil Keys.
func (k *Keys) Secrets() []string {
	if k == nil {
		return nil
	}
	return k.secrets
}

// line finds the line in an error of the YAML package. The rest of the error is not told, because it may have parts of a key.
var line = regexp.MustCompile(`line \d+`)

// Parse reads keys from YAML, such as
//
//	active: "2026"
//	keys:
//	  "2026": 32 bytes in base64
//	  "2025": 32 bytes in base64
//
// The field plain_payloads is optional: see [Options.PlainPayloads]. An error names the field and has no part of a key.
func Parse(text []byte) (*Keys, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		if at := line.FindString(err.Error()); at != "" {
			return nil, fmt.Errorf("the keys are not YAML: see %s", at)
		}
		return nil, errors.New("the keys are not YAML")
	}
	if len(document.Content) == 0 {
		return nil, errors.New("there are no keys: write `active` and `keys`")
	}
	fields, err := mapping("the text", document.Content[0])
	if err != nil {
		return nil, err
	}
	o := Options{Keys: map[string][]byte{}}
	k := &Keys{}
	for name, value := range fields {
		switch name {
		case "active":
			if value.Kind != yaml.ScalarNode {
				return nil, errors.New("active must be the ID of a key")
			}
			k.Active = value.Value
		case "keys":
			if err := k.read(value, o.Keys); err != nil {
				return nil, err
			}
		case "plain_payloads":
			if value.Kind != yaml.ScalarNode || value.Tag != "!!bool" || value.Decode(&o.PlainPayloads) != nil {
				return nil, errors.New("plain_payloads must be true or false")
			}
		default:
			// The name may be a key that stands at the wrong place.
			return nil, fmt.Errorf("line %d has an unknown field: there are only active, keys and plain_payloads", value.Line)
		}
	}
	k.IDs = slices.Sorted(maps.Keys(o.Keys))
	active, known := o.Keys[k.Active]
	switch {
	case len(k.IDs) == 0:
		return nil, fmt.Errorf("keys is empty: write an ID and %s", makeKey)
	case fields["active"] == nil && len(k.IDs) == 1:
		k.Active = k.IDs[0]
		active = o.Keys[k.Active]
	case !known:
		return nil, fmt.Errorf("active must be the ID of the key that encrypts, which is one of %q", k.IDs)
	}
	if len(active) != keyBytes {
		return nil, fmt.Errorf("keys.%s has %d bytes, which only decrypts: a key that encrypts has %s", k.Active, len(active), makeKey)
	}
	o.KeyID = k.Active
	k.Codec, err = New(o)
	return k, err
}

// keyID matches the IDs of keys. They stand unencrypted in Temporal, and in errors.
var keyID = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,64}$`)

func (k *Keys) read(node *yaml.Node, into map[string][]byte) error {
	all, err := mapping("keys", node)
	if err != nil {
		return err
	}
	for id, value := range all {
		if !keyID.MatchString(id) || looksLikeKey(id) { // the key and its ID may stand the wrong way round
			return fmt.Errorf("line %d: the ID of a key must be a short name of letters, digits and . _ : / -, such as 2026", value.Line)
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value.Value))
		switch {
		case value.Kind != yaml.ScalarNode || err != nil:
			return fmt.Errorf("keys.%s is not base64: write %s", id, makeKey)
		case len(key) != 16 && len(key) != 24 && len(key) != keyBytes:
			return fmt.Errorf("keys.%s has %d bytes: write %s", id, len(key), makeKey)
		}
		into[id] = key
		k.secrets = append(k.secrets, strings.TrimSpace(value.Value), hex.EncodeToString(key))
	}
	return nil
}

func looksLikeKey(id string) bool {
	key, err := base64.StdEncoding.DecodeString(id)
	return err == nil && len(key) >= 16
}

// mapping returns the fields of a YAML mapping.
func mapping(what string, node *yaml.Node) (map[string]*yaml.Node, error) {
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s must be a mapping, such as `active: \"2026\"`", what)
	}
	fields := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if fields[name.Value] != nil {
			return nil, fmt.Errorf("line %d: %s has a name twice: remove one", name.Line, what)
		}
		fields[name.Value] = value
	}
	return fields, nil
}
