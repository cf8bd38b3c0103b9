package demo

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// Summary is the result of the demo, with the counts of the model's server and of the tool server. Scripts read its JSON form:
// fields may be added, but must not be changed.
type Summary struct {
	AgentID string        `json:"agent_id"`
	Status  client.Status `json:"status"`
	Answer  string        `json:"answer,omitempty"`
	Failure string        `json:"failure,omitempty"`
	WebUI   string        `json:"web_ui"`
	// StandIn says that the stand-in replied and not a model.
	StandIn   bool       `json:"stand_in"`
	ModelName string     `json:"model_name"`
	Model     ModelCount `json:"model"`
	// Publish counts the calls of an at-most-once tool, Measure those of a read-only tool.
	Publish ToolCount `json:"publish"`
	Measure ToolCount `json:"measure"`
	// Workers holds the process IDs of the workers. Killed is the ID of the killed process; 0 means none.
	Workers []int `json:"workers"`
	Killed  int   `json:"killed"`
	// FirstMessage is the time from the demo's start to the agent's first reply, Recovered that from the kill to the next
	// message. Both are in seconds.
	FirstMessage float64 `json:"first_message_seconds"`
	Recovered    float64 `json:"recovered_seconds"`
	// Repeated is the number of forbidden repeats: of answered model requests and of calls of publish.
	Repeated int `json:"repeated"`
}

// show prints the summary. The parameter keep says whether the Web UI stays.
func (s Summary) show(screen *screen, keep bool) {
	zero := func(n int) string {
		if n == 0 {
			return styles.good.Render("repeated: 0")
		}
		return styles.bad.Render(fmt.Sprintf("repeated: %d", n))
	}
	who := "the model's server"
	if !s.StandIn {
		who = "a proxy before the model"
	}
	rows := [][2]string{
		{who, fmt.Sprintf("%s, %s, %s", plural(s.Model.Answered, "answered request"), plural(s.Model.Keys, "key"), zero(s.Model.Repeated))},
		{"the tool server: publish", fmt.Sprintf("%s, %s, %s", plural(s.Publish.Calls, "effect"), plural(s.Publish.Keys, "key"), zero(s.Publish.Again))},
		{"the tool server: measure", fmt.Sprintf("%s, %s%s", plural(s.Measure.Calls, "call"), plural(s.Measure.Keys, "key"), s.again())},
	}
	if s.Killed != 0 {
		rows = append(rows, [2]string{"worker processes", fmt.Sprintf("%d, of which 1 was killed; %.1f s from the kill to the next message", len(s.Workers), s.Recovered)})
	}
	width := 0
	for _, row := range rows {
		width = max(width, lipgloss.Width(row[0]))
	}
	lines := []string{styles.title.Render("What the servers themselves counted")}
	for _, row := range rows {
		lines = append(lines, styles.dim.Render(fmt.Sprintf("%-*s", width, row[0]))+"  "+row[1])
	}
	text := strings.Join(lines, "\n")
	if screen.live && lipgloss.Width(text)+4 <= screen.width {
		text = lipgloss.NewStyle().Border(lipgloss.RoundedBorder()).BorderForeground(lipgloss.BrightBlack).Padding(0, 1).Render(text)
	}
	screen.say("")
	for line := range strings.Lines(text) {
		screen.say(strings.TrimSuffix(line, "\n"))
	}
	screen.say("")
	if s.Failure != "" {
		screen.say(styles.bad.Render("The agent is "+string(s.Status)+": ") + printable.Text(s.Failure))
	} else if s.Killed == 0 {
		screen.say("No worker was killed: the model did not call measure.")
	}
	if keep {
		screen.say("Web UI    " + s.WebUI)
	} else {
		screen.say(styles.dim.Render("The Web UI ends with the demo; `starter demo --keep` leaves it running."))
	}
}

// again returns why measure was called again with the same key. It is empty if that did not happen.
func (s Summary) again() string {
	if s.Measure.Again == 0 {
		return ""
	}
	return "; measure is read-only, so the interrupted call ran again"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
