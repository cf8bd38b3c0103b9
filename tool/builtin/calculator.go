package builtin

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/reagent-dev/reagent/tool"
)

// maxExpression limits the length of an expression, in bytes. So the number of operations and the depth of nested parentheses are
// limited, too.
const maxExpression = 1000

type calculatorIn struct {
	Expression string `json:"expression" jsonschema:"such as (3 + 4) * 2 ^ 10 / sqrt(2)"`
}

func calculator() tool.Tool {
	return tool.MustFunc("calculator",
		"Calculates an arithmetic expression: + - * / % ^, parentheses, the constants pi and e, and the functions "+
			strings.Join(functionNames(), ", ")+". Whole numbers and fractions are exact; angles are in radians.",
		tool.ReadOnly,
		func(_ context.Context, in calculatorIn) (string, error) {
			n, err := calculate(in.Expression)
			if err != nil {
				return "", err
			}
			return n.String(), nil
		})
}

// calculate returns an error if the expression is too long or not arithmetic, or if the value is not a finite real number.
func calculate(expression string) (n number, err error) {
	if len(expression) > maxExpression {
		return number{}, fmt.Errorf("the expression is longer than %d bytes", maxExpression)
	}
	// Only the parser of package expr is used, not its evaluator. That evaluator computes with int and float64, so 2^63 would
	// overflow and 0.1 + 0.2 would not be 0.3. The parser also accepts strings, ranges and closures; evaluate returns an error
	// for these.
	tree, err := parser.Parse(expression)
	if err != nil {
		// The first line names the position of the error. The other lines mark the position in the expression.
		text, _, _ := strings.Cut(err.Error(), "\n")
		return number{}, fmt.Errorf("not an arithmetic expression: %s", text)
	}
	return evaluate(tree.Node)
}

func evaluate(node ast.Node) (number, error) {
	switch node := node.(type) {
	case *ast.IntegerNode:
		return exact(new(big.Rat).SetInt64(int64(node.Value)))
	case *ast.FloatNode:
		// [fmt.Sprint] returns the shortest decimal text of this float64. If the number that the model wrote has at most 15
		// significant digits, the shortest text is this number.
		r, ok := new(big.Rat).SetString(fmt.Sprint(node.Value))
		if !ok {
			return approximate(node.Value)
		}
		return exact(r)
	case *ast.IdentifierNode:
		switch strings.ToLower(node.Value) {
		case "pi":
			return approximate(math.Pi)
		case "e":
			return approximate(math.E)
		}
		return number{}, fmt.Errorf("unknown name %q: there are pi, e, %s", node.Value, strings.Join(functionNames(), ", "))
	case *ast.UnaryNode:
		x, err := evaluate(node.Node)
		if err != nil {
			return number{}, err
		}
		switch node.Operator {
		case "+":
			return x, nil
		case "-":
			return x.negate(), nil
		}
		return number{}, fmt.Errorf("the operator %q is not arithmetic", node.Operator)
	case *ast.BinaryNode:
		x, err := evaluate(node.Left)
		if err != nil {
			return number{}, err
		}
		y, err := evaluate(node.Right)
		if err != nil {
			return number{}, err
		}
		operate, ok := operators[node.Operator]
		if !ok {
			return number{}, fmt.Errorf("the operator %q is not arithmetic", node.Operator)
		}
		return operate(x, y)
	case *ast.BuiltinNode: // a function that expr has, too: abs, round, max, …
		return apply(node.Name, node.Arguments)
	case *ast.CallNode:
		if callee, ok := node.Callee.(*ast.IdentifierNode); ok {
			return apply(callee.Value, node.Arguments)
		}
	}
	return number{}, fmt.Errorf("only numbers, + - * / %% ^, parentheses and functions are allowed")
}

var operators = map[string]func(x, y number) (number, error){
	"+":  number.add,
	"-":  func(x, y number) (number, error) { return x.add(y.negate()) },
	"*":  number.multiply,
	"/":  number.divide,
	"%":  number.remainder,
	"^":  number.power,
	"**": number.power,
}

func apply(name string, arguments []ast.Node) (number, error) {
	f, ok := functions[name]
	if !ok {
		return number{}, fmt.Errorf("unknown function %q: there are %s", name, strings.Join(functionNames(), ", "))
	}
	if len(arguments) < f.least || len(arguments) > f.most {
		return number{}, fmt.Errorf("%s does not take %d arguments", name, len(arguments))
	}
	values := make([]number, len(arguments))
	for i, a := range arguments {
		v, err := evaluate(a)
		if err != nil {
			return number{}, err
		}
		values[i] = v
	}
	n, err := f.call(values)
	if err != nil {
		return number{}, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
