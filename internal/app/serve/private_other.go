//go:build !linux

package serve

// makePrivate does nothing and returns nil. Only Linux lets a process hide its environment and memory from its own user.
func makePrivate() error { return nil }
