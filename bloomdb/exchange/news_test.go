package exchange

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// nextDelta reports a mail in a database and returns the delta.
func nextDelta(t testing.TB, db *bloomdb.DB, what string) wire.Delta {
	t.Helper()
	if err := db.Report(mail("%s", what), bloomdb.ClassOther); err != nil {
		t.Fatal(err)
	}
	d, ok, err := db.NextDelta(true)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	return d
}

// firstDelta begins the epoch of a database and returns its first delta, marked as
// published.
func firstDelta(t testing.TB, db *bloomdb.DB) wire.Delta {
	t.Helper()
	if err := db.Resume(0, 0); err != nil {
		t.Fatal(err)
	}
	d := nextDelta(t, db, "first")
	if err := db.Published(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// look makes an exchange read all new data, as it does periodically.
func look(t testing.TB, x *Exchange) {
	t.Helper()
	for heads := true; heads || x.anyWork(); heads = false {
		if err := x.catchUp(t.Context(), heads); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNews(t *testing.T) {
	db := openDB(t, siteOptions(t.TempDir(), "a"))
	if err := db.Resume(0, 0); err != nil {
		t.Fatal(err)
	}
	heartbeat := db.Heartbeat(0, 0)
	d := nextDelta(t, db, "x")
	manifest := db.NewSnapshot().Manifest(firstSlot)
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
		{"too large a heartbeat", append(bytes.Clone(heartbeat), make([]byte, maxHeartbeat)...), 0},
		{"too large", append(bytes.Clone(d.Data), make([]byte, maxNews)...), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, err := decodeNews(test.message)
			switch {
			case test.want == 0 && (err == nil || n.record != nil || !strings.Contains(err.Error(), "news")):
				t.Errorf("got %v, %v", n.head, err)
			case test.want != 0 && (err != nil || n.head.Type != test.want || n.head.Site != "a" || !bytes.Equal(n.record, test.message)):
				t.Errorf("got %v, %v", n.head, err)
			}
		})
	}
}

func FuzzNews(f *testing.F) {
	f.Fuzz(func(t *testing.T, message []byte) {
		n, err := decodeNews(message)
		if err != nil {
			if n.head.Site != "" || n.record != nil {
				t.Fatal("an error and a result")
			}
			return
		}
		if !bloomdb.ValidSite(n.head.Site) || n.head.Epoch == 0 || len(message) > maxNews {
			t.Fatalf("news of %q, epoch %d, %d bytes", n.head.Site, n.head.Epoch, len(message))
		}
	})
}

func FuzzPosition(f *testing.F) {
	f.Fuzz(func(t *testing.T, id string) {
		p, err := parsePosition(id)
		if err == nil && p.String() != id { // an accepted text has only one encoding
			t.Fatalf("%q is also %q", id, p)
		}
		if err != nil && p != (Position{}) {
			t.Fatal("an error and a result")
		}
	})
}

func TestPosition(t *testing.T) {
	order := []Position{{}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}}
	for i, p := range order {
		for j, q := range order {
			if p.after(q) != (i > j) {
				t.Errorf("%v after %v: %v", p, q, p.after(q))
			}
			if got := later(p, q); got != order[max(i, j)] {
				t.Errorf("the later one of %v and %v: %v", p, q, got)
			}
		}
		if got, err := parsePosition(p.String()); got != p || err != nil {
			t.Errorf("%v became %v, %v", p, got, err)
		}
	}
	for _, id := range []string{"", "1", "1-", "-1", "01-1", "1-+1", "1-1-1", " 1-1", "1-18446744073709551616"} {
		if p, err := parsePosition(id); err == nil {
			t.Errorf("%q became %v", id, p)
		}
	}
	for _, test := range []struct {
		at, head Position
		want     uint64
	}{
		{Position{1, 5}, Position{1, 5}, 0},
		{Position{1, 5}, Position{1, 9}, 4},
		{Position{1, 5}, Position{1, 2}, 0},
		{Position{1, 5}, Position{3, 2}, 2},
	} {
		if got := test.at.lag(test.head); got != test.want {
			t.Errorf("lag of %v behind %v: %d", test.at, test.head, got)
		}
	}
}
