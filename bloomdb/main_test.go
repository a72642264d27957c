package bloomdb_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) {
	if err := testenv.Models(10); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testenv.InMemory()
	os.Exit(m.Run())
}

// stride is the distance between the bytes of a file that are damaged in turn. Code in one
// goroutine has no races, so every eighth byte is enough under the race detector.
var stride = map[bool]int{false: 1, true: 8}[testenv.Race]
