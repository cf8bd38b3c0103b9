// Package heap measures what a test holds in memory.
package heap

import "runtime"

// Bytes returns the size of all objects on the heap after a garbage collection. What the test holds must outlive the call: see
// [runtime.KeepAlive].
func Bytes() int {
	runtime.GC()
	runtime.GC() // the first one may only run finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
