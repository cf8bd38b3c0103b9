package progress

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

func speaks(text string) client.Progress {
	return client.Progress{Status: client.Running, PartialText: &client.PartialText{Text: text, Said: len(text), Attempt: 1}}
}

func says(text string) client.Progress {
	return client.Progress{Message: &agent.Message{Message: llm.Message{Role: llm.Assistant, Content: text}}}
}

func watcher(s *terminal) (see func(client.Progress), p *preview) {
	p = &preview{out: s, size: s.size}
	show := NewTranscript(p.beside(s), printable.Text)
	return func(progress client.Progress) {
		p.update(progress, "")
		if progress.Message != nil {
			show.Message(*progress.Message)
		}
	}, p
}

func TestPreviewGrowsAndTheMessageTakesItsPlace(t *testing.T) {
	s := newTerminal(t, 20, 10)
	see, p := watcher(s)
	see(says("Hello."))
	see(speaks("The first"))
	require.Equal(t, "Hello.\nThe first", s.text())
	see(speaks("The first line and more\nof"))
	require.Equal(t, "Hello.\nThe first line and\nmore\nof", s.text())
	fmt.Fprintln(p.beside(s), "trouble")
	require.Equal(t, "Hello.\ntrouble\nThe first line and\nmore\nof", s.text())
	see(client.Progress{NoServer: true})
	require.Equal(t, "Hello.\ntrouble\nThe first line and\nmore\nof", s.text(), "nothing is known of it")
	see(says("The first line and more\nof this."))
	require.Equal(t, "Hello.\ntrouble\nThe first line and m\nore\nof this.\n", s.text())
}

func TestPreviewSaysThatAnotherAttemptSpeaks(t *testing.T) {
	s := newTerminal(t, 40, 10)
	see, p := watcher(s)
	see(speaks("One thing"))
	see(client.Progress{Status: client.Running, Retry: &client.Retry{What: "model"}})
	require.Empty(t, s.text(), "what the first said is void")
	see(client.Progress{Status: client.Running, PartialText: &client.PartialText{Text: "Another", Said: 7, Attempt: 2}})
	require.Equal(t, "(attempt 2) Another", s.text())
	p.end()
	require.Empty(t, s.text())
}

func TestPreviewShowsTheEndOfWhatDoesNotFit(t *testing.T) {
	s := newTerminal(t, 20, 5)
	see, _ := watcher(s)
	see(speaks("one\ntwo\nthree\nfour\nfive"))
	require.Equal(t, "…\nfour\nfive", s.text())
	see(client.Progress{Status: client.Running, PartialText: &client.PartialText{Text: "the end", Said: 3000, Attempt: 1}})
	require.Equal(t, "…the end", s.text())
}

// While tools run, the preview shows the last lines of the output of each. Nothing of it stays.
func TestPreviewShowsTheOutputOfRunningTools(t *testing.T) {
	s := newTerminal(t, 40, 24)
	see, p := watcher(s)
	outputs := []client.ToolOutput{{CallID: "1", Name: "shell", Text: "1\n2\n3\n4\n5\n6\n10 %\r20 %\x1b[2J\n", Said: 3000, Attempt: 1}}
	see(client.Progress{Status: client.Running, ToolOutputs: outputs})
	require.Equal(t, "2\n3\n4\n5\n6\n20 %\\x1b[2J", s.text())
	outputs = append(outputs, client.ToolOutput{CallID: "2", Name: "fetch\n", Text: "half", Said: 4, Attempt: 1})
	see(client.Progress{Status: client.Running, ToolOutputs: outputs})
	require.Equal(t, "shell:\n2\n3\n4\n5\n6\n20 %\\x1b[2J\nfetch:\nhalf", s.text())
	see(client.Progress{Status: client.Running})
	require.Empty(t, s.text(), "the tools have ended")
	see(client.Progress{Status: client.Running, ToolOutputs: outputs})
	p.end()
	require.Empty(t, s.text())
}

// For random texts and sizes of the terminal, only the transcript is left on the terminal at the end. The terminal receives only
// the transcript and the preview's own sequences.
func TestPreviewLeavesNothingBehind(t *testing.T) {
	letters := []rune("abc   \n\t\x1b[2J\x07\u009bé—…\u202e\u200b")
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		width := 3 + random.IntN(60)
		s := newTerminal(t, width, 3+random.IntN(10))
		see, p := watcher(s)
		var plain bytes.Buffer
		for range 1 + random.IntN(4) {
			var text strings.Builder
			for range 1 + random.IntN(6) {
				for range random.IntN(100) {
					text.WriteRune(letters[random.IntN(len(letters))])
				}
				see(speaks(text.String()))
				if random.IntN(4) == 0 {
					fmt.Fprintln(p.beside(s), "note")
					fmt.Fprintln(&plain, "note")
				}
			}
			message := says(strings.ReplaceAll(text.String(), "\t", " ")) // each terminal shows tabs in its own way
			see(message)
			NewTranscript(&plain, printable.Text).Message(*message.Message)
		}
		see(speaks("not to the end"))
		p.end()
		want := newTerminal(t, width, 1000)
		fmt.Fprint(want, plain.String())
		require.Equal(t, want.text(), s.text(), "seed %d", seed)
	}
}

func TestPreviewIsClearedFromANarrowerTerminal(t *testing.T) {
	s := newTerminal(t, 30, 20)
	see, p := watcher(s)
	see(says("Hello."))
	see(speaks("a line of some length, and another one"))
	s.narrow(11)
	see(speaks("a line of some length, and another one, and more"))
	p.end()
	require.Equal(t, "Hello.\n", s.text())
}

// The preview does not change the output for scripts.
func TestPreviewIsForTerminalsOnly(t *testing.T) {
	var out bytes.Buffer
	p := newPreview(&out, true)
	require.Nil(t, p)
	p.update(speaks("words"), "")
	require.Equal(t, &out, p.beside(&out))
	p.end()
	require.Empty(t, out.String())
}
