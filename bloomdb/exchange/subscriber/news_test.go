package subscriber

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNews(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	testenv.Check(t, db.Resume(0, 0))
	heartbeat := db.Heartbeat(0, 0)
	bloomdbtest.Report(t, db, 1)
	d, ok, err := db.NextDelta(true)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	manifest := db.NewSnapshot().Manifest(streams.FirstSlot)
	for _, test := range []struct {
		name    string
		message []byte
		want    wire.RecordType // 0: refused
	}{
		{"delta", d.Data, wire.RecordDelta},
		{"heartbeat", heartbeat, wire.RecordHeartbeat},
		{"manifest", manifest, 0},
		{"empty", nil, 0},
		{"garbage", []byte("garbage"), 0},
		{"text", []byte("head a 1-1\n"), 0},
		{"truncated", d.Data[:20], 0},
		{"too large a heartbeat", append(bytes.Clone(heartbeat), make([]byte, streams.MaxHeartbeat)...), 0},
		{"too large", append(bytes.Clone(d.Data), make([]byte, streams.MaxNews)...), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, err := decode(test.message)
			switch {
			case test.want == 0 && (err == nil || n.Record != nil || !strings.Contains(err.Error(), "news")):
				t.Errorf("got %v, %v", n.Head, err)
			case test.want != 0 && (err != nil || n.Head.Type != test.want || n.Head.Site != "a" || !bytes.Equal(n.Record, test.message)):
				t.Errorf("got %v, %v", n.Head, err)
			}
		})
	}
}

func FuzzNews(f *testing.F) {
	f.Fuzz(func(t *testing.T, message []byte) {
		n, err := decode(message)
		if err != nil {
			if n.Head.Site != "" || n.Record != nil {
				t.Fatal("an error and a result")
			}
			return
		}
		if !bloomdb.ValidSite(n.Head.Site) || n.Head.Epoch == 0 || len(message) > streams.MaxNews {
			t.Fatalf("news of %q, epoch %d, %d bytes", n.Head.Site, n.Head.Epoch, len(message))
		}
	})
}
