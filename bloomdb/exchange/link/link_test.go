package link

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff(t *testing.T) {
	var b Backoff
	for range 3 {
		sum := time.Duration(0)
		for want := firstWait; want < lastWait; want *= 2 {
			if got := b.Next(); got < want/2 || got > want {
				t.Errorf("waits %v, not %v to %v", got, want/2, want)
			} else {
				sum += got
			}
		}
		for range 10 {
			if got := b.Next(); got < lastWait/2 || got > lastWait {
				t.Errorf("waits %v in the end", got)
			}
		}
		b.Succeeded()
	}
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		if !l.Allow("a") || l.Allow("a") || !l.Allow("b") {
			t.Error("once each, at first")
		}
		time.Sleep(limiterPeriod - time.Millisecond)
		if l.Allow("a") {
			t.Error("again within a minute")
		}
		time.Sleep(time.Millisecond)
		if !l.Allow("a") || l.Allow("a") {
			t.Error("once more after it")
		}
		for i := range 3 * limiterSize {
			l.Allow(fmt.Sprint(i))
		}
		if len(l.last) > limiterSize {
			t.Errorf("remembers %d things", len(l.last))
		}
	})
}

func TestLink(t *testing.T) {
	l := New(slog.New(slog.DiscardHandler))
	for _, p := range []Part{Publish, Subscribe, Read} {
		if l.IsConnected() {
			t.Errorf("connected before %s", p)
		}
		l.Succeeded(p)
	}
	if !l.IsConnected() {
		t.Error("not connected")
	}
	l.Failed(Read, errors.New("gone"))
	if fault, _ := l.LastFault(); l.IsConnected() || fault != "read: gone" {
		t.Error(fault)
	}
	l.Succeeded(Read)
	if fault, _ := l.LastFault(); !l.IsConnected() || fault != "read: gone" {
		t.Error("the last error must be reported even after it was overcome")
	}
}

// An intermittent part does not fill the log.
func TestLinkThatFlaps(t *testing.T) {
	var text strings.Builder
	l := New(slog.New(slog.NewTextHandler(&text, nil)))
	l.Succeeded(Publish)
	for range 100 {
		l.Failed(Publish, errors.New("gone"))
		l.Succeeded(Publish)
	}
	if fails, works := strings.Count(text.String(), "exchange failed"), strings.Count(text.String(), "exchange recovered"); fails != 1 || works != 1 {
		t.Errorf("logged %d failures and %d recoveries, want one each a minute", fails, works)
	}
	l.Failed(Read, errors.New("gone"))
	if !strings.Contains(text.String(), "part=read") {
		t.Error("another part must be logged at once")
	}
}
