package chat

// memo keeps the lines of one text, so that a text that stays the same is not drawn again for each screen.
type memo struct {
	text  string
	width int
	drawn []string
}

func (d *memo) lines(text string, width int, draw func() []string) []string {
	if d.drawn == nil || d.text != text || d.width != width {
		d.text, d.width, d.drawn = text, width, draw()
	}
	return d.drawn
}
