package refusal_test

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

func TestCauseOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want refusal.Cause
	}{
		{wire.ErrUnsigned, refusal.Unsigned},
		{layout.ErrNewer, refusal.Newer},
		{refusal.ErrOrigin, refusal.Origin},
		{streams.ErrOversize, refusal.Oversize},
		{fmt.Errorf("%w: %w", streams.ErrNotOurs, streams.ErrOversize), refusal.Oversize},
		{streams.ErrNotOurs, refusal.Stream},
		{fmt.Errorf("torn"), refusal.Invalid},
	} {
		if got := refusal.CauseOf(fmt.Errorf("delta 1-1: %w", c.err)); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

// Each refusal is counted, and one a minute is logged for each site and cause.
func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := refusal.New(slog.New(slog.NewTextHandler(&log, nil)))
		for range 3 {
			c.Add("a", refusal.Entry, refusal.ErrEntry)
			c.Add("a", refusal.Clock, layout.ErrClock)
			c.Add("", refusal.News, refusal.ErrOrigin)
		}
		if n := strings.Count(log.String(), "refused"); n != 3 {
			t.Errorf("%d lines, want one for each site and cause:\n%s", n, log.String())
		}
		time.Sleep(time.Minute)
		c.Add("a", refusal.Entry, refusal.ErrEntry)
		if n := strings.Count(log.String(), "refused"); n != 4 {
			t.Errorf("%d lines a minute later, want 4", n)
		}
		for site, want := range map[string]map[string]int64{
			"a": {"entry": 4, "clock": 3}, "": {"news": 3}, "b": nil,
		} {
			if got := c.Of(site); !reflect.DeepEqual(got, want) {
				t.Errorf("of %q: %v, want %v", site, got, want)
			}
		}
	})
}
