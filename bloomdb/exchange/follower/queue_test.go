package follower

import "testing"

// A busy follower does not block the subscriber. It loses nothing, because it reads the streams
// later.
func TestNewsAreDroppedNotQueuedForEver(t *testing.T) {
	f := follow(openSite(t, "me"), newLog())
	for range queuedNews {
		f.Receive(News{})
	}
	select {
	case <-f.resync:
		t.Fatal("a resync was requested too early")
	default:
	}
	for range 3 {
		f.Receive(News{})
	}
	if len(f.news) != queuedNews {
		t.Errorf("%d news in the queue", len(f.news))
	}
	select {
	case <-f.resync:
	default:
		t.Error("dropped news without a resync")
	}
}
