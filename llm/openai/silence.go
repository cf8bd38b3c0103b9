package openai

import (
	"context"
	"errors"
	"io"
	"time"
)

// errSilent is the cause for which an answer is given up that has stopped coming.
var errSilent = errors.New("the answer stopped coming")

// afterFinish is how long is waited for what may follow the finish reason: the
// usage, the end mark. The reply is whole by then.
const afterFinish = 5 * time.Second

// silence is the body of a stream that is given up when nothing comes for too
// long. It counts while it is read, not while someone thinks about what was
// read. It is not safe for concurrent use.
type silence struct {
	body   io.Reader
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration // 0 means none
	end    time.Time     // zero means none
}

func newSilence(body io.Reader, cancel context.CancelCauseFunc) *silence {
	return &silence{body: body, cancel: cancel}
}

// Read reads, and cancels the request when that takes too long.
func (s *silence) Read(p []byte) (int, error) {
	limit := s.limit
	if !s.end.IsZero() {
		limit = max(time.Until(s.end), 1)
	}
	if limit > 0 {
		if s.timer == nil {
			s.timer = time.AfterFunc(limit, func() { s.cancel(errSilent) })
		} else {
			s.timer.Reset(limit)
		}
		defer s.timer.Stop()
	}
	return s.body.Read(p)
}

// limitTo bounds the silences from now on.
func (s *silence) limitTo(limit time.Duration) { s.limit = limit }

// closing bounds all that is still read.
func (s *silence) closing() {
	if s.end.IsZero() {
		s.end = time.Now().Add(afterFinish)
	}
}
