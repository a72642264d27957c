package bloomdb_test

import (
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunModels(m, 10)) }

// stride is the distance between the bytes of a file that are damaged in turn. Code in one
// goroutine has no races, so every eighth byte is enough under the race detector.
var stride = map[bool]int{false: 1, true: 8}[testenv.Race]
