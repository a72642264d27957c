package exchange

import (
	"flag"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// TestMain runs more tests at a time than there are processors, unless -parallel is given,
// because most of them wait for their servers.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // it is a number
	}
	redis.SetLogger(Logger{Log: discard})
	goleak.VerifyTestMain(m)
}
