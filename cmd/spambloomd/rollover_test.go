package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/reporting"
)

// keyFile writes a federation key.
func keyFile(t *testing.T, key [32]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "federation.key")
	if err := bloomdb.WriteKey(path, key); err != nil {
		t.Fatal(err)
	}
	return path
}

// What cannot be a roll-over is said before anything is touched.
func TestWrongRollover(t *testing.T) {
	one, two := keyFile(t, [32]byte{1}), keyFile(t, [32]byte{2})
	for _, c := range []struct {
		key, previous string
		code          int
		want          string
	}{
		{two, one, 0, ""},
		{one, one, 78, "hold the same key"},
		{two, one + "-gone", 78, "previous_federation_key: federation key: open"},
		{two + "-gone", one, 78, "there is no key to roll over to"},
		{two, write(t, filepath.Join(t.TempDir(), "short"), "1234"), 78, "must be 64 hex digits"},
	} {
		path := write(t, filepath.Join(t.TempDir(), "c.toml"), fmt.Sprintf("[site]\nfederation_key = %q\nprevious_federation_key = %q\n", c.key, c.previous))
		if r := start(t, "-t", "-c", path, "--data", t.TempDir()); r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s after %s: exit %d: %s", c.key, c.previous, r.code, r.stderr)
		}
	}
}

// Both databases have their metrics, and the page says that there are two.
func TestRolloverIsShown(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	s := &settings{Config: config.Default(), data: t.TempDir(), site: "mx1"}
	o := s.databaseOptions([32]byte{2}, log)
	o.PreviousKey = &[32]byte{1}
	o.Reports.Capacity, o.Counts.Capacity = 1000, 1000
	db, err := bloomdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := exchange.Dial("redis://127.0.0.1:1/0", exchange.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	d := &server{started: s, current: s, systemd: &supervisor{log: log}, log: log, db: db, desk: testDesk(t, db), door: reporting.NewDoor(reporting.DoorOptions{}), redis: client, milter: milter.NewServer(db, s.milterOptions(s.site, log))}
	d.exchange = exchange.New(db, client, bloomdb.KeyID(o.Key), s.exchangeOptions(log))
	d.joinPrevious()
	h := d.newHTTP().Handler
	for path, wants := range map[string][]string{
		"/": {"The federation key is rolled over", bloomdb.KeyID(*o.PreviousKey)},
		"/metrics": {
			fmt.Sprintf(`spambloom_exchange_connected{key="%s"} 0`, bloomdb.KeyID(o.Key)),
			fmt.Sprintf(`spambloom_exchange_connected{key="%s"} 0`, bloomdb.KeyID(*o.PreviousKey)),
			fmt.Sprintf(`spambloom_db_journal_fault{key="%s"} 0`, bloomdb.KeyID(*o.PreviousKey)),
		},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		body, _ := io.ReadAll(w.Body)
		for _, want := range wants {
			if w.Code != 200 || !strings.Contains(string(body), want) {
				t.Errorf("GET %s: %d, %q is missing in\n%s", path, w.Code, want, body)
			}
		}
	}
	if f := d.facts(); f.Exchange == nil || f.Previous == nil {
		t.Errorf("facts %+v", f)
	}
}

// Real daemons and a real Redis in the middle of a roll-over: a has the old key, b both,
// c the new one. Everything that a and c report acts on b, and what b does on both; what
// b knew before is known after.
func TestRolloverOfDaemons(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	old, fresh := keyFile(t, [32]byte{1}), keyFile(t, [32]byte{2})
	a, b, c := newSite(t, "a", old, redis.url()), newSite(t, "b", old, redis.url()), newSite(t, "c", fresh, redis.url())
	a.start()
	b.start()
	c.start()
	before := request(text())
	b.mustReport(t, before)
	b.stop(syscall.SIGTERM)
	oldLine, previousLine := fmt.Sprintf("federation_key = %q", old), fmt.Sprintf("previous_federation_key = %q", old)
	b.configure(t, oldLine, fmt.Sprintf("federation_key = %q\n%s", fresh, previousLine))
	b.start()
	expectListed(t, b, []reporting.Request{before})

	byA, byB, byC := request(text()), request(text()), request(text())
	a.mustReport(t, byA)
	b.mustReport(t, byB)
	c.mustReport(t, byC)
	for _, s := range []struct {
		*site
		knows []reporting.Request
	}{{a, []reporting.Request{before, byA, byB}}, {b, []reporting.Request{before, byA, byB, byC}}, {c, []reporting.Request{byB, byC}}} {
		for _, r := range s.knows {
			eventually(t, s.name+" hears of a report", func() bool { return s.lists(t, r) })
		}
	}
	if _, err := b.client().Revoke(t.Context(), byB); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*site{a, b, c} {
		eventually(t, s.name+" hears of a revocation", func() bool { return !s.lists(t, byB) })
	}

	b.stop(syscall.SIGTERM)
	b.configure(t, previousLine, "")
	b.start()
	expectListed(t, b, []reporting.Request{byC})
	if !strings.Contains(b.log(), "may be removed") {
		t.Error("nobody says that the old state may be removed")
	}
	for _, s := range []*site{a, b, c} {
		if code := s.stop(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d\n%s", code, s.log())
		}
	}
}

func (s *site) mustReport(t *testing.T, r reporting.Request) {
	t.Helper()
	if _, err := s.client().Report(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func (s *site) lists(t *testing.T, r reporting.Request) bool {
	t.Helper()
	answer, err := s.client().Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Verdict == "spam"
}
