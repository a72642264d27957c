package backup

import (
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) {
	testenv.InMemory()
	os.Exit(m.Run())
}
