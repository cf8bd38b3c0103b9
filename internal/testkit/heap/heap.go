// Package heap measures what a test holds in memory.
package heap

import "runtime"

// Bytes collects the garbage and returns the size of all objects that are left on the heap. The collection also removes the object that the
// test measures if the test does not use it any more. To prevent this, call [runtime.KeepAlive] with the object after Bytes.
func Bytes() int {
	runtime.GC()
	runtime.GC() // the first one may only run finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
