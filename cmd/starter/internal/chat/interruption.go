package chat

import "slices"

// interruptedHere is the note at the place of an interruption that is over, in a chat that has not seen it.
const interruptedHere = "Interrupted here."

// maxInterrupts limits how many of the newest interruptions are looked for, because each report does it.
const maxInterrupts = 100

// markInterrupts adds a note before the message with which an interrupted turn went on, unless something on the screen says so already.
func (c *conversation) markInterrupts() {
	times := c.snap.Interrupts
	for _, t := range times[max(0, len(times)-maxInterrupts):] {
		at := slices.IndexFunc(c.items, func(it *item) bool { return it.kind == userItem && it.at >= t.UnixMilli() })
		if at > 0 && !saysInterrupted(c.items[:at]) {
			c.items = slices.Insert(c.items, at, &item{kind: noteItem, index: c.items[at].index, text: interruptedHere})
		}
	}
}

// saysInterrupted reports whether one of the last items, behind those of the newest message, is about an interruption.
func saysInterrupted(items []*item) bool {
	for _, it := range slices.Backward(items) {
		switch {
		case it.kind == cutItem, it.kind == noteItem && (it.text == interruptedText || it.text == interruptedHere):
			return true
		case it.index >= 0:
			return false
		}
	}
	return false
}
