package bulk

import (
	"slices"

	"github.com/reagent-dev/reagent/client"
)

// family is the agents of a namespace, with the parent of each.
type family struct {
	lives   []client.Life
	parents []int // an index in lives; -1 if the parent is not an agent of the namespace, or if there is none
}

func newFamily(lives []client.Life) family {
	byID := map[string][]int{}
	for i, l := range lives {
		byID[l.ID] = append(byID[l.ID], i)
	}
	f := family{lives, make([]int, len(lives))}
	for i, l := range lives {
		f.parents[i] = -1
		candidates := byID[l.Parent]
		if l.Parent == "" || len(candidates) == 0 {
			continue
		}
		p := slices.IndexFunc(candidates, func(j int) bool { return slices.Contains(lives[j].Runs, l.ParentRunID) })
		if p < 0 && len(candidates) == 1 {
			p = 0 // Temporal has deleted the run that started it
		}
		if p >= 0 {
			f.parents[i] = candidates[p]
		}
	}
	return f
}

// tree is an agent and the sub-agents below it, each parent before its sub-agents.
type tree struct {
	lives []client.Life
	// above is the ID of the parent of the first agent; empty if it has none.
	above string
}

// below returns the selected agents with all agents below them, as trees. No agent is in two trees.
func (f family) below(selected func(i int) bool) []tree {
	children := map[int][]int{}
	for i, p := range f.parents {
		children[p] = append(children[p], i)
	}
	in := make([]bool, len(f.lives))
	var add func(i int)
	add = func(i int) {
		if in[i] {
			return
		}
		in[i] = true
		for _, c := range children[i] {
			add(c)
		}
	}
	for i := range f.lives {
		if selected(i) {
			add(i)
		}
	}
	var trees []tree
	for i, l := range f.lives {
		if !in[i] || f.parents[i] >= 0 && in[f.parents[i]] {
			continue
		}
		t := tree{above: l.Parent}
		for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
			t.lives = append(t.lives, f.lives[queue[0]])
			queue = append(queue, children[queue[0]]...)
		}
		trees = append(trees, t)
	}
	return trees
}
