package condition

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// values returns the members of a JSON object. Whole numbers are of type int, so that large ones are compared exactly.
func values(object string) (map[string]any, error) {
	args := map[string]any{}
	if object == "" {
		return args, nil
	}
	decoder := json.NewDecoder(strings.NewReader(object))
	decoder.UseNumber()
	if err := decoder.Decode(&args); err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	for name, value := range args {
		number, err := numbers(value)
		if err != nil {
			return nil, err
		}
		args[name] = number
	}
	return args, nil
}

// numbers returns the value with an int or a float64 for each number in it.
func numbers(value any) (_ any, err error) {
	switch v := value.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			n, err := strconv.Atoi(v.String())
			return n, err
		}
		return strconv.ParseFloat(v.String(), 64)
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = numbers(v[name]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}
