//go:build race

package picture

import (
	"os/exec"
	"testing"
)

// The tests of this package without the race detector, in a program of their own: it
// makes a pixel some twenty times as dear, and has nothing to see where no goroutine is
// started. Those of what comes from outside, in decode_test.go, run with it too.
func TestWithoutRaceDetector(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-race=false", "-count=1", "-vet=off", "-v", ".").CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("go test: %v", err)
	}
}
