package agent

import "github.com/reagent-dev/reagent/internal/plural"

// LimitOwner says who set a limit. The values never change, because histories contain them.
type LimitOwner string

const (
	// LimitOfDefinition is the owner of a limit in the definition. It is not stored.
	LimitOfDefinition LimitOwner = ""
	// LimitOfMessage is the owner of a limit in the overrides of the turn's message.
	LimitOfMessage LimitOwner = "message"
	// LimitOfStart is the owner of a limit in the overrides with which the agent was started.
	LimitOfStart LimitOwner = "start"
	// LimitOfParent is the owner of a sub-agent's share of the budget: see [Grant].
	LimitOfParent LimitOwner = "parent"
)

// ReachedLimit is the limit that has ended a turn.
type ReachedLimit struct {
	// Value is a text with the unit, such as "500 tokens" or "$0.5000".
	Value string `json:"value,omitempty"`
	// Of is the owner of the limit.
	Of LimitOwner `json:"of,omitempty"`
}

// reached is the limit that forbids another model call. The zero value means that none does.
type reached struct {
	ReachedLimit
	// name is that of [Turn].Stopped, and why explains the limit to the model and to people.
	name, why string
}

// limit returns the limit that forbids another model call.
func (s *State) limit() reached {
	limits, bounds, spent := s.Definition.Limits, s.bounds(), s.reserved()
	start, message, budget := s.Overrides.Limits, Limits{}, Grant{}
	if o := s.Turn.Overrides; o != nil {
		message, budget = o.Overrides.Limits, o.Budget
	}
	switch {
	case limits.ModelCalls > 0 && s.Turn.ModelCalls >= limits.ModelCalls:
		of := ownerOf(limits.ModelCalls, message.ModelCalls, start.ModelCalls, 0)
		return reached{ReachedLimit{plural.Of(limits.ModelCalls, "model call"), of}, "model_calls", textModelCalls(limits.ModelCalls)}
	case bounds.Tokens > 0 && spent.Tokens() >= bounds.Tokens:
		of := ownerOf(bounds.Tokens, budget.Tokens, start.Tokens, s.Grant.Tokens)
		if value := plural.Of(message.Tokens, "token"); of == LimitOfMessage {
			return reached{ReachedLimit{value, of}, "tokens", textMessageLimit(value, "tokens")}
		}
		return reached{ReachedLimit{plural.Of(bounds.Tokens, "token"), of}, "tokens", textTokens(bounds.Tokens)}
	case bounds.Cost > 0 && spent.Cost >= bounds.Cost:
		of := ownerOf(bounds.Cost, budget.Cost, start.Cost, s.Grant.Cost)
		if value := message.Cost.String(); of == LimitOfMessage {
			return reached{ReachedLimit{value, of}, "cost", textMessageLimit(value, "cost")}
		}
		return reached{ReachedLimit{bounds.Cost.String(), of}, "cost", textCost(bounds.Cost)}
	case s.Turn.TimeUp:
		return s.timeLimit()
	}
	return reached{}
}

// LimitUse says how much of a limit is used.
type LimitUse struct {
	// Name is that of [Turn].Stopped. It is empty if there is no limit.
	Name string
	// Share is the used part of the limit. It is 1 at the limit, and more than 1 if the last reply passed the limit.
	Share float64
}

// Tightest returns the limit of which the largest share is used, of those that can end a turn. `now` is in Unix milliseconds.
func (s *State) Tightest(now int64) (tightest LimitUse) {
	if s.Definition == nil {
		return LimitUse{}
	}
	limits, bounds, spent := s.Definition.Limits, s.bounds(), s.reserved()
	for _, each := range []struct {
		name        string
		used, limit float64
	}{
		{"model_calls", float64(s.Turn.ModelCalls), float64(limits.ModelCalls)},
		{"tokens", float64(spent.Tokens()), float64(bounds.Tokens)},
		{"cost", float64(spent.Cost), float64(bounds.Cost)},
		{"time", float64(max(now-s.Turn.Began, 0)), float64(limits.Time.Milliseconds())},
	} {
		if use := (LimitUse{each.name, each.used / each.limit}); each.limit > 0 && (tightest.Name == "" || use.Share > tightest.Share) {
			tightest = use
		}
	}
	return tightest
}

// timeLimit returns the time limit of the turn.
func (s *State) timeLimit() reached {
	limit, message := s.Definition.Limits.Time, Limits{}
	if o := s.Turn.Overrides; o != nil {
		message = o.Overrides.Limits
	}
	of := ownerOf(limit, message.Time, s.Overrides.Limits.Time, 0)
	return reached{ReachedLimit{duration(limit.Milliseconds()), of}, "time", textTime(limit)}
}

// ownerOf returns the owner of a limit: who has set this value. A limit of 0 is none.
func ownerOf[N ~int | ~int64](limit, message, start, parent N) LimitOwner {
	switch limit {
	case message:
		return LimitOfMessage
	case parent:
		return LimitOfParent
	case start:
		return LimitOfStart
	}
	return LimitOfDefinition
}
