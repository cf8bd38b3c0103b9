package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// report collects the rows of the table that this program prints.
type report struct {
	rows  [][]string
	early float64 // number of history bytes for each turn of an agent with 50 turns
}

// compare adds a row that compares the two [contestants]. `v` has one value for each of them. The row shows both values,
// written with `format`. It also shows the ratio: the value of the agent, divided by the value of [ByHand]. If `goal` is not
// 0, the row shows whether the ratio is at most `goal`.
func (r *report) compare(label, format string, v [len(contestants)]float64, goal float64) {
	ratio := v[reagent] / v[byHand]
	row := []string{label, fmt.Sprintf(format, v[byHand]), fmt.Sprintf(format, v[reagent]), fmt.Sprintf("%.2f×", ratio), "", ""}
	if goal > 0 {
		row[4], row[5] = fmt.Sprintf("≤ %.2f×", goal), verdict(ratio <= goal)
	}
	r.rows = append(r.rows, row)
}

// goal adds a row for a measurement of the agent alone. The row shows the value, the text of the goal, such as "≤ 3 s", and
// whether the value meets the goal.
func (r *report) goal(label, value string, met bool, goal string) {
	r.rows = append(r.rows, []string{label, "", value, "", goal, verdict(met)})
}

// steady adds a row that shows whether an agent adds more to its history in late turns than in early turns. `late` is the
// number of history bytes for each turn of an agent that makes more than 50 turns. The row shows a ratio: `late`, divided by
// the same number for an agent that makes 50 turns. The goal is a ratio of at most 1.02. If the agent with 50 turns was not
// measured, steady adds no row.
func (r *report) steady(label string, late float64) {
	if r.early == 0 {
		return
	}
	ratio := late / r.early
	r.goal(label, fmt.Sprintf("%.3f×", ratio), ratio <= 1.02, "≤ 1.02×")
}

// note adds a row without a goal, for a measurement of the agent alone.
func (r *report) note(label, value string) {
	r.rows = append(r.rows, []string{label, "", value, "", "", ""})
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}

func (r *report) print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{{"", "by hand", "reagent", "ratio", "goal", ""}}, r.rows...) {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return w.Flush()
}

func medians(rounds [len(contestants)][]float64) [len(contestants)]float64 {
	var m [len(contestants)]float64
	for who := range rounds {
		m[who] = median(rounds[who])
	}
	return m
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
