// Package condition evaluates conditions on the arguments of calls, in the language of expr-lang.org.
package condition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

const (
	// MaxBytes is the largest size of a condition, in bytes. It is small, because the history stores the condition again with each model call,
	// and with each call that the condition lets run.
	MaxBytes = 300
	// maxArguments is the largest size of arguments, in bytes. The model writes them, so they must not cost much.
	maxArguments = 64 << 10
	// memoryBudget limits the values that the evaluation of one condition makes.
	memoryBudget = 100_000
	maxNodes     = 100
)

// Condition is a condition on the arguments of a call. It is safe for concurrent use. Make one with [Parse].
type Condition struct{ program *vm.Program }

// Parse reads and checks a condition, such as "args.amount > 50". Its only variable is args, the arguments. Parse refuses what could take
// long: loops in loops, and patterns that come from the arguments.
func Parse(text string) (*Condition, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("has %d bytes; the limit is %d: shorten it", len(text), MaxBytes)
	}
	tree, err := parser.Parse(text)
	if err == nil {
		var costs costs
		ast.Walk(&tree.Node, &costs)
		err = costs.problem
	}
	var program *vm.Program
	if err == nil {
		program, err = expr.Compile(text, expr.Env(map[string]any{"args": map[string]any{}}), expr.AsBool(), expr.MaxNodes(maxNodes))
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n") // the other lines draw the position
		return nil, fmt.Errorf("is not a condition: %s; write one such as args.amount > 50", first)
	}
	return &Condition{program}, nil
}

// Holds reports whether the condition holds for arguments, which are a JSON object; empty means {}. It returns an error if this cannot be
// told, for example because an argument is missing or has another type.
func (c *Condition) Holds(arguments string) (bool, error) {
	if len(arguments) > maxArguments {
		return false, fmt.Errorf("the arguments have %d bytes; the limit for a condition is %d", len(arguments), maxArguments)
	}
	args, err := values(arguments)
	if err != nil {
		return false, err
	}
	machine := vm.VM{MemoryBudget: memoryBudget}
	result, err := machine.Run(c.program, map[string]any{"args": args})
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return false, errors.New(first)
	}
	holds, ok := result.(bool)
	if !ok {
		return false, fmt.Errorf("the condition is %v, which is neither true nor false", result)
	}
	return holds, nil
}

// costs finds the parts of a condition whose evaluation could take long.
type costs struct{ problem error }

// Visit implements [ast.Visitor].
func (c *costs) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		inner := loops(false)
		ast.Walk(&n.Node, &inner)
		if inner {
			c.problem = errors.New("a loop in a loop could take too long")
		}
	case *ast.BinaryNode:
		if _, constant := n.Right.(*ast.StringNode); n.Operator == "matches" && !constant {
			c.problem = errors.New("the pattern after matches must be a text")
		}
	}
}

// loops becomes true if a part of a condition has a loop.
type loops bool

// Visit implements [ast.Visitor].
func (l *loops) Visit(node *ast.Node) {
	if _, ok := (*node).(*ast.PredicateNode); ok {
		*l = true
	}
}
