//go:build !linux

package serve

// makePrivate does nothing: other systems show the environment of a process to its user.
func makePrivate() error { return nil }
