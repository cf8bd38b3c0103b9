// Package heap measures what a test holds in memory.
package heap

import "runtime"

// Bytes returns the size of all objects on the heap after a garbage collection. Call [runtime.KeepAlive] afterwards with the object that the
// test measures. If not, the collection may remove this object, too.
func Bytes() int {
	runtime.GC()
	runtime.GC() // the first one may only run finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
