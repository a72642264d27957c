package subscriber

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/follower"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
)

// flooded is a channel that always has another message.
type flooded struct {
	streams.Transport
	record []byte
	read   int
	most   int
	end    context.CancelFunc
}

func (f *flooded) Subscribe(context.Context) (streams.Subscription, error) { return f, nil }
func (f *flooded) Ping(context.Context) error                              { return nil }
func (f *flooded) Close()                                                  {}

func (f *flooded) Receive(ctx context.Context, _ time.Duration) (streams.Event, error) {
	if f.read++; f.read > f.most {
		f.end()
	}
	return streams.Event{Message: f.record}, ctx.Err()
}

// TestFloodedChannel is the attack "flooded channel": a client of Redis without a key repeats a record
// without end. It is read no faster than the records of 1,024 sites arrive.
func TestFloodedChannel(t *testing.T) {
	const minute = 60
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	record := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")).Heartbeat(0, 0)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), minute*time.Second)
		defer cancel()
		most := newsRate * (minute + int(newsBurst/time.Second) + 1)
		channel := &flooded{record: record, most: most, end: cancel}
		discard := slog.New(slog.DiscardHandler)
		l, refused := link.New(discard), refusal.New(discard)
		New(db, channel, l, refused, follower.New(db, channel, l, refused, discard), nil, time.Hour).Run(ctx)
		if channel.read > most || channel.read < newsRate*minute {
			t.Errorf("%d messages are read in a minute, want at most %d", channel.read, most)
		}
	})
}
