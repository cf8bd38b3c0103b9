package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// report holds the rows of the table.
type report struct {
	rows  [][]string
	early float64 // history bytes of one turn, in an agent of 50 turns
}

// compare adds a row with the label, the values of both contestants, and the ratio of the agent's value to the value of the
// workflow written by hand. The parameter format is the format of a value for package fmt. The parameter goal is the highest
// ratio that meets the goal; 0 means no goal.
func (r *report) compare(label, format string, v [len(contestants)]float64, goal float64) {
	ratio := v[reagent] / v[byHand]
	row := []string{label, fmt.Sprintf(format, v[byHand]), fmt.Sprintf(format, v[reagent]), fmt.Sprintf("%.2f×", ratio), "", ""}
	if goal > 0 {
		row[4], row[5] = fmt.Sprintf("≤ %.2f×", goal), verdict(ratio <= goal)
	}
	r.rows = append(r.rows, row)
}

// goal adds a row for a measurement of the agent alone. The row shows the value, the goal, and whether the value meets the
// goal.
func (r *report) goal(label, value string, met bool, goal string) {
	r.rows = append(r.rows, []string{label, "", value, "", goal, verdict(met)})
}

// steady adds a row that compares two agents by the history bytes of one turn. The parameter late is the number of bytes
// for one turn of the longer agent; r.early is the number for one turn of an agent of 50 turns. The row shows late divided
// by r.early. The goal is at most 1.02.
func (r *report) steady(label string, late float64) {
	ratio := late / r.early
	r.goal(label, fmt.Sprintf("%.2f×", ratio), ratio <= 1.02, "≤ 1.02×")
}

// note adds a row for a measurement of the agent alone that has no goal.
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
