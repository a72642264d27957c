package streams_test

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redisclient.Logger{Log: slog.New(slog.DiscardHandler)})
	goleak.VerifyTestMain(m)
}
