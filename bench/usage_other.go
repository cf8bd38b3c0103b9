//go:build !linux

package main

import "time"

// These functions return nothing useful, because only Linux has the values. The table shows NaN for their ratios.

func workerCPU() time.Duration { return 0 }

func serverCPU(int) time.Duration { return 0 }

func loadAverage() string { return "unknown" }
