// Command promql parses Prometheus queries and alert rules with Prometheus' own parsers, and prints which metrics and labels they name.
// It is a module of its own, because the module of Prometheus has many dependencies that Reagent does not need.
//
// It reads an [Input] from its standard input and prints an [Output]. It ends with 1 if something cannot be parsed.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// Input is what the program reads.
type Input struct {
	Queries []string `json:"queries"`
	// Rules is the text of a file with rules.
	Rules string `json:"rules"`
}

// Output is what the program prints.
type Output struct {
	// Metrics has the labels that the queries and rules name, by metric.
	Metrics map[string][]string `json:"metrics"`
	// Alerts has the names of the alerts.
	Alerts []string `json:"alerts"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var input Input
	if err := json.NewDecoder(in).Decode(&input); err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	p := parser.NewParser(parser.Options{})
	groups, problems := rulefmt.Parse([]byte(input.Rules), false, model.UTF8Validation, p, slog.New(slog.DiscardHandler))
	output, queries := Output{Metrics: map[string][]string{}}, input.Queries
	if groups != nil {
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				output.Alerts = append(output.Alerts, rule.Alert)
				queries = append(queries, rule.Expr)
			}
		}
	}
	for _, query := range queries {
		parsed, err := p.ParseExpr(query)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", query, err))
			continue
		}
		for metric, labels := range names(parsed) {
			known := output.Metrics[metric]
			known = append(known, labels...)
			slices.Sort(known)
			output.Metrics[metric] = slices.Compact(known)
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return json.NewEncoder(out).Encode(output)
}

// names returns the labels of each metric in an expression: those that select series, and those by which the expression groups.
func names(e parser.Expr) map[string][]string {
	selected := map[string]map[string]bool{}
	parser.Inspect(e, func(node parser.Node, path []parser.Node) error {
		series, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		labels := selected[series.Name]
		if labels == nil {
			labels = map[string]bool{}
			selected[series.Name] = labels
		}
		for _, m := range series.LabelMatchers {
			if m.Name != model.MetricNameLabel {
				labels[m.Name] = true
			}
		}
		for _, above := range path {
			if group, ok := above.(*parser.AggregateExpr); ok {
				for _, name := range group.Grouping {
					labels[name] = true
				}
			}
		}
		return nil
	})
	all := map[string][]string{}
	for metric, labels := range selected {
		all[metric] = slices.Collect(maps.Keys(labels))
	}
	return all
}
