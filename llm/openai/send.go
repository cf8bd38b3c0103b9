package openai

import "github.com/reagent-dev/reagent/llm"

// renewing returns a function that calls `tell` with a delta. It calls `renew` before and after, because the time that the listener
// takes does not count.
func renewing(renew func(), tell func(llm.Delta)) func(llm.Delta) {
	return func(d llm.Delta) {
		renew()
		tell(d)
		renew()
	}
}
