package openai

import "github.com/reagent-dev/reagent/llm"

// renewing returns a function that calls `tell` with a delta. The function also calls `renew` before and after `tell`, because the
// time that `tell` takes does not count.
func renewing(renew func(), tell func(llm.Delta)) func(llm.Delta) {
	return func(d llm.Delta) {
		renew()
		tell(d)
		renew()
	}
}
