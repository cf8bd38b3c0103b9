package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// workerCPU returns the CPU time that this process has used; 0 if the system does not tell it. The worker in this process uses almost all
// of this time.
func workerCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverCPU returns the CPU time that the process with the given ID has used, in steps of 10 ms. It returns 0 if this time
// cannot be read.
func serverCPU(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the name of the program in parentheses, which may contain spaces.
	_, rest, _ := strings.Cut(string(text), ") ")
	var user, system int64
	if _, err := fmt.Sscan(strings.Join(strings.Fields(rest)[11:13], " "), &user, &system); err != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// resident returns the memory of the process with the given ID that is in RAM, in MB. It returns 0 if this cannot be read.
func resident(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kilobytes float64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0
	}
	return kilobytes / 1000
}

// loadAverage returns the load average of the last minute. It returns "unknown" if the load average cannot be read.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
