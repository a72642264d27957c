package exchange_test

import (
	"flag"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestMain runs more tests at a time than there are processors, unless -parallel is given,
// because most of them wait for their servers.
func TestMain(m *testing.M) {
	testenv.InMemory()
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // it is a number
	}
	redis.SetLogger(redisclient.Logger{Log: slog.New(slog.DiscardHandler)})
	goleak.VerifyTestMain(m)
}
