package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAgeIsInTheLargestUnitThatSaysEnough(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Minute: "0 s", 900 * time.Millisecond: "0 s", time.Second: "1 s", 59 * time.Second: "59 s",
		3*time.Minute + 59*time.Second: "3 m", time.Hour: "1 h", 47 * time.Hour: "47 h", 48 * time.Hour: "2 d",
		24 * 40 * time.Hour: "40 d",
	} {
		require.Equal(t, want, Age(d), d)
	}
}
