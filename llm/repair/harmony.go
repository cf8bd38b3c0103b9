package repair

import (
	"regexp"
	"strings"
)

// In the format harmony of the gpt-oss models, a text is a sequence of messages. Each message has a header with a channel. The header
// of a call also has a recipient.
var (
	harmonyBegin  = regexp.MustCompile(`^(?:<\|start\|>assistant[^<>|]{0,100})?<\|channel\|>`)
	harmonyHeader = regexp.MustCompile(`^(?:<\|start\|>assistant([^<>|]{0,100}))?<\|channel\|>([^<>|]{0,100})(?:<\|constrain\|>[^<>|]{0,100})?<\|message\|>`)
	harmonyEnd    = regexp.MustCompile(`<\|(?:end|call|return|start|channel)\|>`)
)

// harmony separates `thought`, the reasoning in a text in the format harmony, from `said`, the rest. The messages of the channel
// analysis are reasoning. Calls stay in the text as they are, because [spoken] reads them. If the text is not in this format, the last
// result is false.
func harmony(text string) (thought, said string, found bool) {
	rest := strings.TrimSpace(text)
	if !harmonyBegin.MatchString(rest) {
		return "", text, false
	}
	var thoughts, texts []string
	for rest != "" {
		m, after, ok := firstMessage(rest)
		if !ok {
			return "", text, false
		}
		switch {
		case m.recipient != "":
			texts = append(texts, rest[:len(rest)-len(after)])
		case m.channel == "analysis":
			thoughts = append(thoughts, m.body)
		default:
			texts = append(texts, m.body)
		}
		rest = strings.TrimSpace(after)
	}
	if len(thoughts) == 0 && len(texts) == 1 && texts[0] == strings.TrimSpace(text) {
		return "", text, false // there is nothing to separate from a call
	}
	return strings.Join(thoughts, "\n\n"), strings.Join(texts, "\n\n"), true
}

// harmonyMessage is one message in the format harmony. The recipient is empty if the message is not a call.
type harmonyMessage struct{ channel, recipient, body string }

// firstMessage returns the first message of a text in the format harmony, and the text after it. If the text does not begin with a
// message, the last result is false.
func firstMessage(text string) (m harmonyMessage, rest string, ok bool) {
	header := harmonyHeader.FindStringSubmatch(text)
	if header == nil {
		return m, "", false
	}
	m.channel, m.recipient = address(header[1], header[2])
	m.body = text[len(header[0]):]
	if end := harmonyEnd.FindStringIndex(m.body); end != nil {
		if rest = m.body[end[1]:]; harmonyBegin.MatchString(m.body[end[0]:]) {
			rest = m.body[end[0]:] // the end mark is missing, and the next message begins
		}
		m.body = m.body[:end[0]]
	}
	m.body = strings.TrimSpace(m.body)
	return m, rest, true
}

// address returns the channel of a message, such as "commentary", and its recipient, such as "functions.get_weather". The recipient
// may be in two parts of the header: `role` is the part after the role, and `channel` is the part after the token <|channel|>.
func address(role, channel string) (name, recipient string) {
	for word := range strings.FieldsSeq(channel + " " + role) {
		if to, found := strings.CutPrefix(word, "to="); found {
			recipient = to
		} else if name == "" {
			name = word
		}
	}
	return name, recipient
}
