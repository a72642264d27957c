//go:build packages

package packaging

import (
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
