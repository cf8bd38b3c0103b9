package reagenttest

// Failing returns the activities that are tried again, as the error of a test that waits for them has them.
func (a *Agents) Failing() string { return a.attempts.text() }
