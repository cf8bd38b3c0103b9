package audit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/reagent-dev/reagent/internal/app/audit"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/testkit/recording"
)

// recorded returns the runs that were recorded with a real server, by the ID of the agent.
func recorded(t *testing.T) map[string][]audit.Run {
	t.Helper()
	files, err := filepath.Glob("../../../workflows/testdata/histories/*/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string][]audit.Run{}
	for _, file := range files {
		r, err := recording.Read(file)
		require.NoError(t, err)
		if r.History.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() == protocol.AgentWorkflow {
			all[r.ID] = append(all[r.ID], audit.Run{ID: r.ID, RunID: r.RunID, Events: r.History.GetEvents()})
		}
	}
	return all
}

var noon = time.Date(2100, 1, 2, 12, 0, 0, 0, time.UTC)

// trail returns the lines of a trail of the agents, each with its runs, that was made long after their ends.
func trail(t *testing.T, scope audit.Scope, agents ...[]audit.Run) []object.AuditLine {
	t.Helper()
	return trailAt(t, noon, scope, agents...)
}

func trailAt(t *testing.T, now time.Time, scope audit.Scope, agents ...[]audit.Run) []object.AuditLine {
	t.Helper()
	var lines []object.AuditLine
	made, err := audit.Begin(scope, now, func(l object.AuditLine) error {
		lines = append(lines, l)
		return nil
	})
	require.NoError(t, err)
	for _, runs := range agents {
		require.NoError(t, made.Add(runs))
	}
	hash, err := made.End()
	require.NoError(t, err)
	require.Equal(t, lines[len(lines)-1].Hash, hash)
	return lines
}

// exported returns the text of a trail, one element for each line.
func exported(t *testing.T, lines []object.AuditLine) []string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, object.PrintAll(&b, lines))
	return strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func check(t *testing.T, text []string) []audit.Problem {
	t.Helper()
	c, err := audit.Read(strings.NewReader(strings.Join(text, "")))
	require.NoError(t, err)
	return c.Check()
}

// compare returns what differs between an exported trail and the trail that is made of the same histories now.
func compare(t *testing.T, text []string, now []object.AuditLine) ([]audit.Problem, []string) {
	t.Helper()
	c, err := audit.Read(strings.NewReader(strings.Join(text, "")))
	require.NoError(t, err)
	return c.Compare(now)
}

// told returns what the lines say, without places, hashes, times and models' texts.
func told(lines []object.AuditLine) []string {
	var all []string
	for _, l := range lines {
		text := string(l.Act)
		for _, word := range []string{l.Tool, l.Arguments, l.NewArguments, string(l.AllowedBy), l.Class, string(l.Status), l.Guardrail, l.Agent} {
			if word != "" {
				text += " " + word
			}
		}
		all = append(all, text)
	}
	return all
}

// Each recorded agent has a trail that fits itself and its histories, with and without its texts.
func TestTrailFitsItselfAndTheHistories(t *testing.T) {
	for id, runs := range recorded(t) {
		lines := trail(t, audit.Scope{ID: id}, runs)
		bare := make([]object.AuditLine, len(lines))
		for i, l := range lines {
			bare[i] = audit.WithoutTexts(l)
			require.Empty(t, bare[i].Content+bare[i].Arguments+bare[i].NewArguments+bare[i].Reason)
		}
		for _, text := range [][]string{exported(t, lines), exported(t, bare)} {
			require.Empty(t, check(t, text), id)
			problems, gone := compare(t, text, lines)
			require.Empty(t, problems, id)
			require.Empty(t, gone, id)
		}
	}
}

// The trails of all recorded agents are as stored: what was asked, proposed, allowed, run and returned.
func TestTrailsAreAsStored(t *testing.T) {
	all := recorded(t)
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s\n", id)
		for _, l := range told(trail(t, audit.Scope{ID: id}, all[id])) {
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(stored, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(stored)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "if the change is wanted, store it with -update")
}

var update = flag.Bool("update", false, "write testdata/trails.txt")

const stored = "testdata/trails.txt"

// A trail is the same whatever the order in which the runs are read.
func TestOrderOfRunsDoesNotMatter(t *testing.T) {
	for id, runs := range recorded(t) {
		want := trail(t, audit.Scope{ID: id}, runs)
		backwards := slices.Clone(runs)
		slices.Reverse(backwards)
		require.Equal(t, want, trail(t, audit.Scope{ID: id}, backwards), id)
	}
}

// More events only add lines to those of a run. So what was exported earlier fits the later history.
func TestEventsOnlyAddLines(t *testing.T) {
	for id, runs := range recorded(t) {
		for _, r := range runs {
			whole := trail(t, audit.Scope{ID: id}, []audit.Run{r})
			for n := 1; n < len(r.Events); n += 1 + len(r.Events)/20 {
				if resetAfter(r.Events[n:]) {
					continue
				}
				begun := r
				begun.Events = r.Events[:n]
				now := begun.Events[n-1].GetEventTime().AsTime()
				text := exported(t, trailAt(t, now, audit.Scope{ID: id}, []audit.Run{begun}))
				problems, gone := compare(t, text, whole)
				require.Empty(t, problems, "%s after %d events", id, n)
				require.Empty(t, gone)
			}
		}
	}
}

func resetAfter(events []*historypb.HistoryEvent) bool {
	return slices.ContainsFunc(events, func(e *historypb.HistoryEvent) bool {
		return e.GetWorkflowTaskFailedEventAttributes().GetBaseRunId() != ""
	})
}

// What a reset has copied is told once, of the run in which it happened, also if Temporal has deleted the history of this run.
func TestCopiesOfAResetAreToldOnce(t *testing.T) {
	for id, runs := range recorded(t) {
		first := runs[0]
		if resetAfter(first.Events) {
			continue
		}
		for n := 2; n < len(first.Events); n += 1 + len(first.Events)/10 {
			at := first.Events[n].GetEventTime()
			again := audit.Run{ID: id, RunID: "again", Events: append(slices.Clone(first.Events[:n]), &historypb.HistoryEvent{
				EventId: int64(n + 1), EventTime: timestamppb.New(at.AsTime().Add(time.Hour)), EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED,
				Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{
					Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW, BaseRunId: first.RunID, NewRunId: "again", Identity: "ann@laptop",
				}},
			})}
			once := append(happened(trail(t, audit.Scope{ID: id}, []audit.Run{first})), "reset again ann@laptop")
			require.Equal(t, once, happened(trail(t, audit.Scope{ID: id}, []audit.Run{again, first})), "%s after %d events", id, n)
			begun := first
			begun.Events = first.Events[:n]
			once = append(happened(trail(t, audit.Scope{ID: id}, []audit.Run{begun})), "reset again ann@laptop")
			require.Equal(t, once, happened(trail(t, audit.Scope{ID: id}, []audit.Run{again})), "%s after %d events", id, n)
		}
	}
}

// happened returns the lines about runs, with the run and the actor.
func happened(lines []object.AuditLine) []string {
	var all []string
	for _, l := range lines {
		if l.RunID != "" && l.Act != "history_read" {
			all = append(all, fmt.Sprint(l.Act, " ", l.RunID, " ", l.From))
		}
	}
	return all
}

// A slice of a trail has the lines from its time on.
func TestSliceHasTheLinesFromItsTimeOn(t *testing.T) {
	for id, runs := range recorded(t) {
		whole := trail(t, audit.Scope{ID: id}, runs)
		since := time.Time(whole[len(whole)/2].Time)
		scope := audit.Scope{ID: id, Since: since}
		slice := trail(t, scope, runs)
		var want []string
		for _, l := range whole {
			if l.RunID != "" && l.Act != "history_read" && !time.Time(l.Time).Before(since) {
				want = append(want, fmt.Sprint(l.Act, " ", l.RunID, " ", l.From))
			}
		}
		require.Equal(t, want, happened(slice), id)
		text := exported(t, slice)
		require.Empty(t, check(t, text))
		c, err := audit.Read(strings.NewReader(strings.Join(text, "")))
		require.NoError(t, err)
		require.True(t, c.Scope().Since.Equal(since))
		problems, _ := c.Compare(trail(t, c.Scope(), runs))
		require.Empty(t, problems)
	}
}

// Whoever changes a value, or removes, moves, repeats or inserts a line of any recorded trail is found, also without the histories. The line is
// named, or the line after it. If all hashes are made anew, the histories find it.
func TestTamperingIsFound(t *testing.T) {
	all := recorded(t)
	for _, id := range []string{"waits", "rolled"} {
		text := exported(t, trail(t, audit.Scope{ID: id}, all[id]))
		for i := range text {
			for name, tampered := range tamperings(t, text, i) {
				problems := check(t, tampered)
				require.NotEmpty(t, problems, "%s: line %d: %s", id, i+1, name)
				require.Contains(t, []int{i, i + 1, i + 2}, problems[0].Line, "%s: line %d: %s: %v", id, i+1, name, problems)
			}
		}
	}
}

// Whoever makes the hash of a changed line anew, and names it in the next line, has to make all later hashes anew, too.
func TestHashMadeAnewIsFound(t *testing.T) {
	lines := trail(t, audit.Scope{ID: "rolled"}, recorded(t)["rolled"])
	for i := range lines[:len(lines)-1] {
		tampered := slices.Clone(lines)
		tampered[i].Class += "x"
		tampered[i] = audit.Forge(tampered[:i+1])[i]
		tampered[i+1].Before = tampered[i].Hash
		problems := check(t, exported(t, tampered))
		require.NotEmpty(t, problems, "line %d", i+1)
		require.Equal(t, i+2, problems[0].Line)
	}
}

// tamperings returns copies of a trail in which somebody has tampered with the line of the given index.
func tamperings(t *testing.T, text []string, i int) map[string][]string {
	t.Helper()
	without := slices.Delete(slices.Clone(text), i, i+1)
	all := map[string][]string{"removed": without, "repeated": slices.Insert(slices.Clone(text), i, text[i])}
	if i > 0 {
		all["cut"] = text[:i]
		moved := slices.Clone(text)
		moved[i-1], moved[i] = moved[i], moved[i-1]
		all["moved"] = moved
	}
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(text[i]), &fields))
	for name, value := range fields {
		changed := map[string]any{}
		maps.Copy(changed, fields)
		switch v := value.(type) {
		case string:
			changed[name] = v + "0"
			if strings.HasSuffix(name, "time") || name == "since" {
				changed[name] = "2020-01-01T00:00:00Z"
			}
		case float64:
			changed[name] = v + 1
		case map[string]any:
			changed[name] = map[string]any{"content": "0"}
		}
		all["changed "+name] = slices.Concat(text[:i], []string{string(encoded(t, changed)) + "\n"}, text[i+1:])
	}
	fields["by"], fields["reason"] = "mallory", "x"
	all["field added"] = slices.Concat(text[:i], []string{string(encoded(t, fields)) + "\n"}, text[i+1:])
	return all
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return bytes.TrimSpace(text)
}

// If somebody makes all hashes anew after a change, the copy fits itself, and the histories tell the change.
func TestForgedTrailDiffersFromTheHistories(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for id, runs := range recorded(t) {
		lines := trail(t, audit.Scope{ID: id}, runs)
		for range 20 {
			i := 1 + r.IntN(len(lines)-2)
			read := func(l object.AuditLine) bool { return l.Act == "history_read" && l.RunID == lines[i].RunID }
			if lines[i].Act == "history_read" || !slices.ContainsFunc(lines, read) {
				continue // there is nothing to compare it with
			}
			for name, forged := range map[string][]object.AuditLine{
				"changed": changed(lines, i), "removed": slices.Delete(slices.Clone(lines), i, i+1),
				"repeated": slices.Insert(slices.Clone(lines), i, lines[i]),
			} {
				text := exported(t, audit.Forge(forged))
				require.Empty(t, check(t, text), "%s: %s", id, name)
				problems, _ := compare(t, text, lines)
				require.NotEmpty(t, problems, "%s: line %d: %s", id, i+1, name)
			}
		}
	}
}

func changed(lines []object.AuditLine, i int) []object.AuditLine {
	lines = slices.Clone(lines)
	lines[i].Arguments += " "
	return lines
}

// If Temporal has deleted histories, the check names their runs, and finds no change in the copy.
func TestDeletedHistoriesAreNamed(t *testing.T) {
	runs := recorded(t)["rolled"]
	text := exported(t, trail(t, audit.Scope{ID: "rolled"}, runs))
	problems, gone := compare(t, text, nil)
	require.Empty(t, problems)
	require.Len(t, gone, len(runs))
	problems, gone = compare(t, text, trail(t, audit.Scope{ID: "rolled"}, runs[1:]))
	require.Empty(t, problems)
	require.Equal(t, []string{runs[0].RunID}, gone)
}
