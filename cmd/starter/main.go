// Command starter is Reagent's command-line program for people. It runs a development server, starts agents, sends them messages
// and shows what they did.
package main

import (
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
