package bulk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
	"github.com/reagent-dev/reagent/internal/clip"
)

const (
	// maxExpression limits the length of an expression, in bytes. An expression has no loops and no variables, so this limits the work and
	// the memory for one agent, too.
	maxExpression = 4000
	// maxNodes and memoryBudget are limits of package expr. The length alone implies less.
	maxNodes, memoryBudget = 4000, 100_000
)

// Where is an expression that selects agents. It is a [listing.Filter], and is safe for concurrent use.
type Where struct {
	// all is the whole expression. listed is the same without the parts that need more than Temporal's list has. The parts of an expression
	// are those between its outermost "and".
	all, listed *vm.Program
	depth       listing.Depth
	now         time.Time
}

// Compile checks an expression. The error names the place of the mistake.
func Compile(text string) (*Where, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes; the limit is %d", len(text), maxExpression)
	}
	w := &Where{now: time.Now()}
	tree, err := parser.Parse(text)
	if err == nil {
		w.depth = depthOf(tree.Node)
		err = check(tree)
	}
	if err == nil {
		w.all, err = expr.Compile(text, options()...)
	}
	if err == nil {
		top := &root{}
		w.listed, err = expr.Compile(text, append(options(), expr.Patch(top), expr.Patch(listedPart{top}))...)
	}
	if err != nil {
		return nil, mistake(text, err)
	}
	return w, nil
}

// Depth implements [listing.Filter].
func (w *Where) Depth() listing.Depth { return w.depth }

// MayMatch implements [listing.Filter].
func (w *Where) MayMatch(e client.Entry) (bool, error) {
	return w.run(w.listed, listing.Row{Entry: e, Snapshot: client.Snapshot{Status: e.Status, Task: e.Task}})
}

// Matches implements [listing.Filter].
func (w *Where) Matches(r listing.Row) (bool, error) { return w.run(w.all, r) }

func (w *Where) run(program *vm.Program, r listing.Row) (bool, error) {
	machine := vm.VM{MemoryBudget: memoryBudget}
	value, err := machine.Run(program, factsOf(r, w.now))
	if err != nil {
		return false, fmt.Errorf("the expression cannot be computed for agent %q: %s", r.Entry.ID, firstLine(err))
	}
	return value == true, nil
}

// options are the settings of package expr for all expressions.
func options() []expr.Option {
	all := []expr.Option{expr.Env(facts{}), expr.AsBool(), expr.MaxNodes(maxNodes), expr.Patch(neverEnded{}), expr.DisableAllBuiltins()}
	for _, name := range functions {
		all = append(all, expr.EnableBuiltin(name))
	}
	return all
}

// neverEnded lets a comparison with the end of an agent be false if the agent has not ended.
type neverEnded struct{}

// Visit implements [ast.Visitor].
func (neverEnded) Visit(node *ast.Node) {
	compares, ok := (*node).(*ast.BinaryNode)
	if !ok || !slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, compares.Operator) || !slices.Contains(namesIn(*node), "ended") {
		return
	}
	closed := &ast.UnaryNode{Operator: "not", Node: &ast.IdentifierNode{Value: "open"}}
	ast.Patch(node, &ast.BinaryNode{Operator: "and", Left: closed, Right: compares})
}

// root finds the root of an expression, which a walk visits last.
type root struct{ node *ast.Node }

// Visit implements [ast.Visitor].
func (r *root) Visit(node *ast.Node) { r.node = node }

// listedPart replaces the parts of an expression that need more than Temporal's list has by true.
type listedPart struct{ root *root }

// Visit implements [ast.Visitor].
func (l listedPart) Visit(node *ast.Node) {
	if node == l.root.node {
		*node = onlyListed(*node)
	}
}

func onlyListed(node ast.Node) ast.Node {
	if depthOf(node) == listing.Listed {
		return node
	}
	if both, ok := node.(*ast.BinaryNode); ok && (both.Operator == "and" || both.Operator == "&&") {
		return &ast.BinaryNode{Operator: "and", Left: onlyListed(both.Left), Right: onlyListed(both.Right)}
	}
	return &ast.BoolNode{Value: true}
}

func depthOf(node ast.Node) listing.Depth {
	depth := listing.Listed
	for _, name := range namesIn(node) {
		depth = max(depth, depths[name])
	}
	return depth
}

// namesIn returns the names of agents' properties in an expression.
func namesIn(node ast.Node) []string {
	var names nameVisitor
	ast.Walk(&node, &names)
	return names
}

type nameVisitor []string

// Visit implements [ast.Visitor].
func (v *nameVisitor) Visit(node *ast.Node) {
	if name, ok := (*node).(*ast.IdentifierNode); ok {
		*v = append(*v, name.Value)
	}
}

// check returns an error for the parts of package expr's language that could take much time or memory, such as loops and variables, and for
// those that are of no use here.
func check(tree *parser.Tree) error {
	v := &allowed{}
	ast.Walk(&tree.Node, v)
	if v.wrong == nil {
		return nil
	}
	return v.wrong.Bind(tree.Source)
}

type allowed struct{ wrong *file.Error }

// Visit implements [ast.Visitor].
func (v *allowed) Visit(node *ast.Node) {
	what := ""
	switch n := (*node).(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.UnaryNode, *ast.ConditionalNode, *ast.ArrayNode, *ast.MemberNode:
	case *ast.IdentifierNode:
		if _, known := depths[n.Value]; !known {
			what = fmt.Sprintf("unknown name %q; the names are %s", n.Value, nameList())
		}
	case *ast.BinaryNode:
		if n.Operator == ".." {
			what = "ranges are not allowed"
		}
	case *ast.BuiltinNode:
		if !slices.Contains(functions, n.Name) {
			what = fmt.Sprintf("the function %q is not allowed; the functions are %s", n.Name, functionNames)
		} else if err := computable(n); err != nil {
			what = err.Error()
		}
	case *ast.CallNode:
		name := "a method"
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			name = fmt.Sprintf("%q", callee.Value)
		}
		what = fmt.Sprintf("the function %s is not allowed; the functions are %s", name, functionNames)
	default:
		what = "this is not allowed; there are names, values, operators and functions"
	}
	if what != "" && v.wrong == nil {
		v.wrong = &file.Error{Location: (*node).Location(), Message: what}
	}
}

// computable returns an error for a date or a duration that is written wrongly, so that it is known before any agent is read.
func computable(n *ast.BuiltinNode) error {
	for _, argument := range n.Arguments {
		if _, text := argument.(*ast.StringNode); !text {
			return nil
		}
	}
	program, err := expr.Compile(n.String())
	if err == nil {
		_, err = expr.Run(program, nil)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be computed: %s", n.Name, firstLine(err))
	}
	return nil
}

// mistake returns an error of one line, which shows the place in the expression.
func mistake(text string, err error) error {
	wrong, ok := errors.AsType[*file.Error](err)
	if !ok {
		return errors.New(firstLine(err))
	}
	runes := []rune(text)
	at := min(max(wrong.From, 0), len(runes))
	if at == len(runes) {
		return fmt.Errorf("%s, at the end of the expression", wrong.Message)
	}
	return fmt.Errorf("%s, at character %d: %s", wrong.Message, at+1, clip.Text(strings.Join(strings.Fields(string(runes[at:])), " "), 40))
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
