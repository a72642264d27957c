package subscriber_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/follower"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/subscriber"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A subscription to a Redis that answers but no longer receives messages (a demoted primary):
// this site's own news do not arrive.
func TestSubscriptionAtTheWrongRedis(t *testing.T) {
	t.Parallel()
	_, demoted := redistest.Mini(t)
	discard := slog.New(slog.DiscardHandler)
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	l, refused, wrong := link.New(discard), refusal.New(discard), streams.New(demoted, "k")
	f := follower.New(db, wrong, l, refused, discard)
	s := subscriber.New(db, wrong, l, refused, f, nil, 300*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	testenv.Eventually(t, "the subscription is given up", func() bool {
		l.Published() // to another server
		fault, _ := l.LastFault()
		return strings.Contains(fault, "subscribe: own news have not come back")
	})
	cancel()
	running.Wait()
}
