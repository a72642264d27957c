package desk_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) {
	testenv.InMemory()
	goleak.VerifyTestMain(m)
}
