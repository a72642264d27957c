package follower

import "testing"

// A busy follower does not block the subscriber, and misses nothing: it reads the streams.
func TestNewsAreDroppedNotQueuedForEver(t *testing.T) {
	f := follow(openSite(t, "me"), newLog())
	for range queuedNews {
		f.Receive(News{})
	}
	select {
	case <-f.resync:
		t.Fatal("asked to read the streams too early")
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
