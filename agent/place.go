package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Place says where another run of the agent has put a user's message into its transcript. A run that a reset began puts the message at
// the same place. So it makes the same requests as the other run, and finds that run's results: see [MessagesFound].
type Place struct {
	// At is the number of messages before the message. It is at least 1.
	At int `json:"at"`
	// Behind is the key of the message directly before: see [Message].Key. If this run's transcript has another message there, the place
	// does not exist in it. Behind is empty if the other run had not taken the message. At is then the first place where that run could
	// have taken it.
	Behind Key `json:"behind,omitempty"`
}

// Places returns the places of the users' messages in the transcript and in the queue, by message ID. These messages have no place:
//
//   - messages that were dropped: see [State.Drop]
//   - the first message of the transcript, or the first one that was not dropped
//   - messages directly behind a notice
//   - late results, which the agent places itself
func (s *State) Places() map[string]Place {
	places := map[string]Place{}
	for i, m := range s.Messages {
		if i > 0 && m.Role == llm.User && m.Key != "" && !m.BringsLateResult() && s.Messages[i-1].Key != "" {
			places[string(m.Key)] = Place{At: s.Dropped + i, Behind: s.Messages[i-1].Key}
		}
	}
	for _, m := range s.Queue {
		if m.Late == nil {
			places[m.ID] = Place{At: s.Entry()}
		}
	}
	return places
}

// AddPlaces adds the places of a run to those of older runs. The newest run that has taken a message counts. If no run has taken it, the
// newest run that has it in its queue counts.
func AddPlaces(all, newer map[string]Place) {
	for id, place := range newer {
		if place.Behind != "" || all[id].Behind == "" {
			all[id] = place
		}
	}
}

// place gives the message the place that it has in another run. The message gets no place if the transcript is already longer.
func (s *State) place(m *QueuedMessage, places map[string]Place) {
	m.Place = nil
	if p, known := places[m.ID]; known && s.Count() <= p.At {
		m.Place = &p
	}
}

// inPlace returns the index in the queue of the message whose place is behind the last message of the transcript; -1 if there is none. A
// message that no run has taken is not meant: see [Place].Behind.
func (s *State) inPlace() int {
	return slices.IndexFunc(s.Queue, func(m QueuedMessage) bool {
		return m.Place != nil && m.Place.Behind != "" && len(s.Messages) > 0 && m.Place.At == s.Count() && m.Place.Behind == s.Messages[len(s.Messages)-1].Key
	})
}

// awaitsPlace reports whether the transcript has not reached the message's place yet.
func (s *State) awaitsPlace(m QueuedMessage) bool { return m.Place != nil && s.Count() < m.Place.At }
