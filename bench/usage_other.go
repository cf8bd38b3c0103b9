//go:build !linux

package main

import "time"

// What only Linux tells; the table shows NaN for its ratio.

func workerCPU() time.Duration { return 0 }

func serverCPU(int) time.Duration { return 0 }

func loadAverage() string { return "unknown" }
