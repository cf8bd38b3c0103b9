package jsonwords_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/jsonwords"
)

type amount int8

type order struct {
	Name  string            `json:"name"`
	Big   int               `json:"big"`
	Small amount            `json:"small"`
	Count uint16            `json:"count"`
	Price *float64          `json:"price"`
	Paid  bool              `json:"paid"`
	Lines []struct{ N int } `json:"lines"`
	Notes map[string]bool   `json:"notes"`
	Odd   int               `json:"odd,string"`
	Inner struct {
		Deep string `json:"deep"`
	} `json:"inner"`
}

func TestProblemNamesTheFieldAndTheJSONType(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                       `the value must be an object, not a list`,
		`"x"`:                      `the value must be an object, not a string`,
		`{"name":1}`:               `the field "name" must be a string, not a number`,
		`{"name":[]}`:              `the field "name" must be a string, not a list`,
		`{"big":"1"}`:              `the field "big" must be a whole number, not a string`,
		`{"big":1e30}`:             `the field "big" must be a whole number from -9223372036854775808 to 9223372036854775807, not 1e30`,
		`{"small":300}`:            `the field "small" must be a whole number from -128 to 127, not 300`,
		`{"small":1.5}`:            `the field "small" must be a whole number from -128 to 127, not 1.5`,
		`{"count":-1}`:             `the field "count" must be a whole number from 0 to 65535, not -1`,
		`{"price":{}}`:             `the field "price" must be a number, not an object`,
		`{"price":1e999}`:          `the field "price" must be a number, not 1e999`,
		`{"paid":"yes"}`:           `the field "paid" must be true or false, not a string`,
		`{"name":true}`:            `the field "name" must be a string, not true or false`,
		`{"lines":{}}`:             `the field "lines" must be a list, not an object`,
		`{"lines":[{"N":"x"}]}`:    `the field "lines.N" must be a whole number, not a string`,
		`{"notes":[1]}`:            `the field "notes" must be an object, not a list`,
		`{"inner":{"deep":false}}`: `the field "inner.deep" must be a string, not true or false`,
		`{"odd":"x"}`:              `a value has the wrong type`,
		`{"other":1}`:              `unknown field "other"`,
		``:                         `the text ends too early`,
		`{"name":"x"`:              `the text ends too early`,
		`{name:1}`:                 `invalid character 'n' looking for beginning of object key string`,
	} {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(new(order))
		require.Error(t, err, text)
		require.Equal(t, want, jsonwords.Problem(err), text)
	}
	err := json.Unmarshal([]byte(`{"small":`+strings.Repeat("9", 10_000)+`}`), new(order))
	require.Less(t, len(jsonwords.Problem(err)), 300)
}
