//go:build race

package signature_test

import (
	"bytes"
	"os/exec"
	"testing"
)

// scale divides the sizes of hostile messages. The race detector makes each byte some ten
// times as expensive, and size adds no races.
const scale = 8

// TestWithoutRaceDetector runs the tests of costly_test.go.
func TestWithoutRaceDetector(t *testing.T) {
	t.Parallel()
	const costly = "^(TestWork|TestCarriedMessageIsNotListed|TestLargeMessages)$"
	out, err := exec.CommandContext(t.Context(), "go", "test", "-race=false", "-count=1", "-vet=off", "-v", "-run", costly, ".").CombinedOutput()
	t.Logf("%s", out)
	if ran := bytes.Count(out, []byte("--- PASS: Test")); err != nil || ran != 3 {
		t.Errorf("go test: %d tests passed: %v", ran, err)
	}
}
