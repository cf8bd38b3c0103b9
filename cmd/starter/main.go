// Command starter is Reagent's command line for people: it runs a development
// server, starts agents, talks to them and shows what they did.
package main

import (
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
