//go:build !linux

package serve

// makePrivate does nothing. Only Linux lets a process hide its environment and memory from its own user.
func makePrivate() error { return nil }
