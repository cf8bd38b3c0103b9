package tool_test

import (
	"context"
	"fmt"

	"github.com/reagent-dev/reagent/tool"
)

// City is the type of the tool's arguments, which the model writes.
type City struct {
	Name string `json:"name" jsonschema:"in English"`
}

func ExampleFunc() {
	population, err := tool.Func("population", "How many people live in a city.", tool.ReadOnly,
		func(_ context.Context, in City) (int, error) {
			if in.Name != "Paris" {
				return 0, fmt.Errorf("there is no city %q", in.Name)
			}
			return 2_100_000, nil
		})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(population.Spec().Schema))

	// A model writes the arguments. If they are wrong, the model gets an error result.
	for _, args := range []string{`{"name":"Paris"}`, `{"name":"Atlantis"}`, `{"city":"Paris"}`} {
		result, err := tool.Run(context.Background(), population, args)
		if err != nil {
			panic(err)
		}
		fmt.Println(result.IsError, result.Content)
	}
	// Output:
	// {"type":"object","properties":{"name":{"type":"string","description":"in English"}},"required":["name"],"additionalProperties":false}
	// false 2100000
	// true there is no city "Atlantis"
	// true arguments do not match the schema of population: unexpected additional properties ["city"]; correct them and call again
}

// A tool that changes an external system passes the call's key to that system. The system then makes the change once, even if
// the tool runs several times.
func ExampleInfoFrom() {
	sent := map[string]bool{}
	mail := tool.MustFunc("mail", "Sends a mail.", tool.Idempotent,
		func(ctx context.Context, _ struct{}) (string, error) {
			sent[tool.InfoFrom(ctx).Key] = true
			return "sent", nil
		})
	ctx := tool.WithInfo(context.Background(), tool.Info{Key: "tool-1"}) // a worker does this
	for range 2 {
		if _, err := tool.Run(ctx, mail, "{}"); err != nil {
			panic(err)
		}
	}
	fmt.Println(len(sent))
	// Output: 1
}

func ExampleRegistry() {
	var tools tool.Registry
	for _, name := range []string{"read", "write"} {
		t := tool.MustFunc(name, "", tool.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil })
		if err := tools.Add(t); err != nil {
			panic(err)
		}
	}
	bound, err := tools.Resolve(context.Background(), []string{"read"})
	fmt.Println(len(bound), bound[0].Ref, err)
	_, err = tools.Resolve(context.Background(), []string{"wirte"})
	fmt.Println(err)
	// Output:
	// 1 read <nil>
	// unknown tool "wirte": did you mean "write"? (the known tools are read, write)
}

// A tool that takes long shows its output while it runs. People see it if somebody watches; the model gets the result only.
func ExampleProgress() {
	build := tool.MustFunc("build", "Builds the program.", tool.Idempotent,
		func(ctx context.Context, _ struct{}) (string, error) {
			for _, file := range []string{"main.go", "text.go"} {
				tool.Progress(ctx, "compiling "+file+"\n")
			}
			return "built", nil
		})
	watched := tool.WithInfo(context.Background(), tool.Info{Progress: func(text string) { fmt.Print(text) }}) // a worker does this
	for _, ctx := range []context.Context{watched, context.Background()} {
		result, err := tool.Run(ctx, build, "{}")
		if err != nil {
			panic(err)
		}
		fmt.Println(result.Content)
	}
	// Output:
	// compiling main.go
	// compiling text.go
	// built
	// built
}
