// Temporalcli prints the path of the Temporal CLI that the tests use. It fetches or builds the CLI if there is none.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/reagent-dev/reagent/internal/app/devserver"
)

func main() {
	path, err := devserver.Binary(context.Background(), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}
