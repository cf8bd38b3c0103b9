package client

import (
	"context"
	"errors"
	"iter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
)

// Update is one item that [Client.Events] yields.
type Update struct {
	// Progress is the one from which the update was made.
	Progress
	// Events are those that come next in the list. There may be none.
	Events []conversation.Event
}

// ErrRewound says that a reset has taken the agent back to a point before events that were read, so that the list of events may change.
var ErrRewound = errors.New("a reset has taken the agent back to an earlier point; read the conversation again")

// Events yields the events of an agent as they come, from the message at index `from` on, which must not be a tool message: see
// [conversation.Of]. It reads messages that were summarised from the histories of earlier runs. The text of a running model call comes if
// somebody has asked for it: see [Message].PartialText.
//
// Events watches the agent as [Client.Watch] does. The error can also be [conversation.ErrLostText] or [ErrRewound]: then the events that
// were yielded are not, or may not be, what is recorded.
func (c *Client) Events(ctx context.Context, id string, from int) iter.Seq2[Update, error] {
	return c.events(ctx, id, from, true)
}

// RecordedEvents is [Client.Events] without live text: the events of a reply come when it is recorded. So the error is never
// [conversation.ErrLostText].
func (c *Client) RecordedEvents(ctx context.Context, id string, from int) iter.Seq2[Update, error] {
	return c.events(ctx, id, from, false)
}

func (c *Client) events(ctx context.Context, id string, from int, live bool) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		list := list{reader: conversation.NewReader(from), live: live}
		for p, err := range c.Watch(ctx, id, from) {
			u := Update{Progress: p}
			if err == nil && p.Message != nil && p.Index > list.reader.Index() {
				u.Events, err = list.earlier(ctx, c, id, p.Index)
			}
			if err == nil {
				err = list.read(&u)
			}
			if !yield(u, err) || err != nil {
				return
			}
		}
	}
}

// list makes the events of [Client.Events].
type list struct {
	reader *conversation.Reader
	live   bool // with the text of running model calls
	// said is the beginning of the text that an attempt at a model call has reported. It ends where a report was missed.
	said    string
	reply   agent.Key
	attempt int
}

// earlier reads the messages up to the index `before`, which were summarised.
func (l *list) earlier(ctx context.Context, c *Client, id string, before int) (events []conversation.Event, err error) {
	messages, err := c.Earlier(ctx, id, before)
	if err != nil {
		return nil, err
	}
	for i := l.reader.Index(); i < len(messages); i++ {
		more, err := l.reader.Message(&messages[i])
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
	}
	return events, nil
}

// read adds the events of the progress to the update.
func (l *list) read(u *Update) error {
	switch {
	case u.Rewound:
		return ErrRewound
	case u.Message != nil:
		events, err := l.reader.Message(u.Message)
		u.Events = append(u.Events, events...)
		return err
	case u.PartialText != nil && l.live:
		u.Events = append(u.Events, l.reader.Partial(u.PartialText.Key, l.hear(u.PartialText))...)
	case u.Status != "":
		u.Events = append(u.Events, l.reader.Open(u.Open)...)
	}
	return nil
}

// hear returns the beginning of the text of a running model call. The worker reports only the end of the text, so the result ends where a
// report was missed.
func (l *list) hear(p *PartialText) string {
	if p.Key != l.reply || p.Attempt != l.attempt {
		l.said, l.reply, l.attempt = "", p.Key, p.Attempt
	}
	if begins := p.Said - len(p.Text); begins >= 0 && begins <= len(l.said) {
		l.said = l.said[:begins] + p.Text
	}
	return l.said
}
