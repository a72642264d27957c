package follower

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
)

// Records of a newer version are skipped and counted as such: the status does not show them
// as junk. A site's records in a supported version are applied.
func TestNewerRecords(t *testing.T) {
	a, b := openSite(t, "a"), openSite(t, "b")
	synctest.Test(t, func(t *testing.T) { readNewer(t, a, b) })
}

func readNewer(t *testing.T, a, b *bloomdb.DB) {
	newer := func(record []byte) []byte {
		record = bytes.Clone(record)
		record[4]++
		return record
	}
	d := firstDelta(t, a)
	log := newLog()
	f := follow(b, log)
	at := streams.At(d.Epoch, d.Seq)
	write := func(heartbeat, record []byte) {
		log.Change(func(k streamstest.State) {
			k.Heads["a"], k.Tails["a"] = heartbeat, at
			k.Streams["a"] = streamstest.Stream{Entries: []streams.Entry{{At: at, Size: len(record), Record: record}}}
		})
	}
	// First the site is unknown, then it is known, and sends a delta of the newer version.
	write(newer(a.Heartbeat(0, 0)), newer(d.Data))
	look(t, f)
	if unknown := f.refused.Of(""); unknown[string(refusal.Newer)] != 1 || len(f.origins) != 0 {
		t.Errorf("refused %v, sites %v", unknown, f.origins)
	}
	write(a.Heartbeat(0, 0), newer(d.Data))
	look(t, f)
	refused := f.refused.Of("a")
	if refused[string(refusal.Newer)] == 0 || refused[string(refusal.Invalid)] > 0 || lists(b, 1) {
		t.Errorf("refused %v", refused)
	}
	write(a.Heartbeat(0, 0), d.Data)
	f.receiveHeartbeat(a.Heartbeat(0, 0), true)
	look(t, f)
	if !lists(b, 1) {
		t.Errorf("the delta is not applied, refused %v", refused)
	}
}
