//go:build !linux

package main

import "time"

// The CPU times, the memory and the load can be read only on Linux, so these functions return constants. The table shows NaN for the
// ratios of CPU times.

func workerCPU() time.Duration { return 0 }

func serverCPU(int) time.Duration { return 0 }

func resident(int) float64 { return 0 }

func loadAverage() string { return "unknown" }
