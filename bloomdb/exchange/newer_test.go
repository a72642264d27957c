package exchange

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/spambloom/spambloom/bloomdb"
)

// Records of a newer version are skipped and counted as such: the status does not show them
// as junk. A site's records in a supported version are applied.
func TestNewerRecords(t *testing.T) {
	a, b := openDB(t, siteOptions(t.TempDir(), "a")), openDB(t, siteOptions(t.TempDir(), "b"))
	synctest.Test(t, func(t *testing.T) { readNewer(t, a, b) })
}

func readNewer(t *testing.T, a, b *bloomdb.DB) {
	newer := func(record []byte) []byte {
		record = bytes.Clone(record)
		record[4]++
		return record
	}
	d := firstDelta(t, a)
	log := newSimLog(rand.New(rand.NewPCG(1, 1)))
	x := newExchange(b, &simWire{log: log}, Options{})
	at := Position{d.Epoch, d.Seq}
	write := func(heartbeat, record []byte) {
		log.keys.heads["a"], log.keys.tails["a"] = heartbeat, at
		log.keys.streams["a"] = simStream{entries: []entry{{at: at, size: len(record), record: record}}}
	}
	// First the site is unknown, then it is known, and sends a delta of the newer version.
	write(newer(a.Heartbeat(0, 0)), newer(d.Data))
	look(t, x)
	if x.strangers[causeNewer] != 1 || len(x.origins) != 0 {
		t.Errorf("refused %v, sites %v", x.strangers, x.origins)
	}
	write(a.Heartbeat(0, 0), newer(d.Data))
	look(t, x)
	refused := x.origins["a"].refused
	if refused[causeNewer] == 0 || refused[causeInvalid] > 0 || b.Judge(mail("first")).Listed {
		t.Errorf("refused %v", refused)
	}
	write(a.Heartbeat(0, 0), d.Data)
	x.receiveHeartbeat(a.Heartbeat(0, 0), true)
	look(t, x)
	if !b.Judge(mail("first")).Listed {
		t.Errorf("the delta is not applied, refused %v", refused)
	}
}
