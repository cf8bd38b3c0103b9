package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAgoIsInTheLargestUnitThatSaysEnough(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Minute: "now", 900 * time.Millisecond: "now", time.Second: "1 s ago", 59 * time.Second: "59 s ago",
		3*time.Minute + 59*time.Second: "3 m ago", time.Hour: "1 h ago", 47 * time.Hour: "47 h ago", 48 * time.Hour: "2 d ago",
		24 * 40 * time.Hour: "40 d ago",
	} {
		require.Equal(t, want, ago(d), d)
	}
}
