package kill

import (
	"syscall"
	"testing"
)

func TestKill(t *testing.T) {
	if err := syscall.Kill(1, 0); err != nil {
		t.Fatal(err)
	}
}
