package publisher

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A machine was cloned, and both daemons publish with one name and key. Each gives its next delta the
// same number. The later one must not take the other's delta for its own: its reports would reach
// nobody.
func TestCloneWithTheSameNumber(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	log := streamstest.NewLog(rand.New(rand.NewPCG(1, 1)))
	begin := func(dir string) (*bloomdb.DB, *Publisher) {
		db := openSite(t, dir)
		p := newPublisher(db, &streamstest.Connection{Log: log}, never)
		p.began = db.Now()
		testenv.Check(t, p.take(t.Context(), p.beat))
		return db, p
	}
	first, pf := begin(dir)
	bloomdbtest.Report(t, first, 1)
	testenv.Check(t, pf.take(t.Context(), pf.publishCounts))
	testenv.Check(t, first.Close())
	testenv.Check(t, os.CopyFS(copied, os.DirFS(dir)))

	a, pa := begin(dir)
	b, pb := begin(copied)
	bloomdbtest.Report(t, a, 2)
	bloomdbtest.Report(t, b, 3)
	testenv.Check(t, pa.take(t.Context(), pa.publishCounts))
	if err := pb.take(t.Context(), pb.publishCounts); !errors.Is(err, streams.ErrMoved) {
		t.Fatal(err)
	}
	if err := pb.take(t.Context(), pb.beat); !errors.Is(err, errNameTaken) {
		t.Errorf("the clone continues: %v", err)
	}
	epoch, _ := b.Head()
	testenv.Check(t, os.Rename(copied, copied+".away"))
	for range 3 { // the other daemon has published nothing since
		if err := pb.take(t.Context(), pb.beat); err == nil {
			t.Error("an epoch begins that is not on disk")
		}
	}
	testenv.Check(t, os.Rename(copied+".away", copied))
	testenv.Check(t, pb.take(t.Context(), pb.beat))
	if next, _ := b.Head(); next != epoch+1 || !b.SnapshotDue() {
		t.Errorf("epoch %d after %d: the report is in no delta, and no snapshot is due: %v", next, epoch, !b.SnapshotDue())
	}
}
