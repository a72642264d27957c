package milter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
)

// openBurstDB is openDB with a burst counter.
func openBurstDB(t *testing.T) *bloomdb.DB {
	t.Helper()
	db, err := bloomdb.Open(bloomdb.Options{
		Dir: t.TempDir(), Site: "mx1",
		Reports: bloomdb.ReportOptions{Capacity: 1000},
		Counts:  bloomdb.CountOptions{Capacity: 1000, Burst: 10 * time.Minute},
	})
	testenv.Check(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// The fifth copy is deferred once. Its retry passes and is not counted, whichever recipient
// it is for. A reload switches greylisting on and off.
func TestGreylist(t *testing.T) {
	off := Options{Policy: policy.Policy{BulkThreshold: 8}}
	on := off
	on.GreylistFrom = 5
	b := start(t, off, nil)
	b.Server.db = openBurstDB(t)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	for i, step := range []struct {
		options Options
		to      string
		answer  string
		count   uint64
	}{
		{on, "a@x", "c", 1},
		{on, "a@x", "c", 2},
		{on, "a@x", "c", 3},
		{on, "a@x", "c", 4},
		{on, "a@x b@x c@x", "451 4.7.1 Try again later: greylist", 5},
		{on, "c@x", "c", 5}, // the retry
		{on, "b@x a@x", "c", 5},
		{off, "d@x", "c", 6},
		{on, "e@x", "451 4.7.1 Try again later: greylist", 7},
		{on, "f@x", "c", 8}, // bulk
		{on, "e@x", "c", 8}, // the retry is bulk now, too
		{on, "e@x", "c", 9},
	} {
		b.Server.Reload(logged(b, step.options))
		action := m.sendTo(strings.Fields(step.to), letter)
		answer := string(action.Code)
		if action.SMTPText != "" {
			answer = fmt.Sprintf("%d %s", action.SMTPCode, action.SMTPText)
		}
		lines := b.lines()
		line := lines[len(lines)-1]
		if answer != step.answer || line["count"] != float64(step.count) {
			t.Errorf("step %d: answer %q, count %v, want %q, %d", i, answer, line["count"], step.answer, step.count)
		}
		deferred := strings.HasPrefix(step.answer, "451")
		if (line["reason"] == "greylist") != deferred || deferred && (line["verdict"] != "clean" || line["action"] != "tempfail") {
			t.Errorf("step %d: log line %v", i, line)
		}
	}
	if n, back := b.metric("spambloom_greylisted_total", "deferred"), b.metric("spambloom_greylisted_total", "returned"); n != 2 || back != 3 {
		t.Errorf("metrics: %v deferred, %v returned, want 2 and 3", n, back)
	}
}

// logged returns options whose log the bench reads.
func logged(b *bench, o Options) Options {
	o.Log, o.Site = b.Server.options.Load().Log, "mx1"
	return o
}

// Only mail that would be delivered as clean is deferred.
func TestGreylistSpares(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options Options
		prepare func(db *bloomdb.DB) error
		want    string // verdict, action, reason
	}{
		{"clean", Options{}, nil, "clean tempfail greylist"},
		{"clean and accepted", Options{Policy: policy.Policy{Clean: policy.Accept}}, nil, "clean tempfail greylist"},
		{"clean and held", Options{Policy: policy.Policy{Clean: policy.Quarantine}}, nil, "clean quarantine "},
		{"clean and refused", Options{Policy: policy.Policy{Clean: policy.Reject}}, nil, "clean reject "},
		{"bulk", Options{Policy: policy.Policy{BulkThreshold: 11}}, nil, "bulk tag "},
		{"spam", Options{}, func(db *bloomdb.DB) error { return db.Report(letter.set(), bloomdb.ClassOther) }, "spam tag "},
		{"never", Options{}, func(db *bloomdb.DB) error { _, err := db.Never(letter.set(), ""); return err }, "allowed tag never"},
		{"allowed", Options{Allow: []policy.Allow{{Name: "all", Senders: []string{"example.org"}}}}, nil, "allowed tag allow:all"},
	} {
		db := openBurstDB(t)
		tc.options.GreylistFrom = 5
		b := start(t, tc.options, nil)
		b.Server.db = db
		testenv.Check(t, db.Count(letter.set(), 10))
		if tc.prepare != nil {
			testenv.Check(t, tc.prepare(db))
		}
		dial(t, "tcp", b.addr, offerAll, "192.0.2.1").send(letter)
		line := b.lines()[0]
		if got := fmt.Sprint(line["verdict"], " ", line["action"], " ", line["reason"]); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// A letter to a whole office is not a burst; five letters are.
func TestGreylistCountsOtherCopies(t *testing.T) {
	b := start(t, Options{CountRecipients: true, CountNetworks: prefixes("127.0.0.0/8"), GreylistFrom: 5}, nil)
	b.Server.db = openBurstDB(t)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	for _, tc := range []struct {
		rcpts  int
		action string
	}{{6, "tag"}, {1, "tempfail"}, {7, "tempfail"}} {
		var to []string
		for i := range tc.rcpts {
			to = append(to, fmt.Sprintf("%d@%d.example", i, tc.rcpts))
		}
		m.sendTo(to, letter)
		lines := b.lines()
		if got := lines[len(lines)-1]["action"]; got != tc.action {
			t.Errorf("to %d recipients: %v, want %s", tc.rcpts, got, tc.action)
		}
	}
}

// A message with an allowed recipient is not delayed for the others.
func TestGreylistAllowedRecipient(t *testing.T) {
	db := openBurstDB(t)
	b := start(t, Options{GreylistFrom: 5, Allow: []policy.Allow{{Name: "boss", Recipients: []string{"boss@example.org"}}}}, nil)
	b.Server.db = db
	testenv.Check(t, db.Count(letter.set(), 10))
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	for _, tc := range []struct {
		recipients []string
		action     string
	}{
		{[]string{"boss@example.org", "clerk@example.org"}, "tag"},
		{[]string{"clerk@example.org"}, "tempfail"},
	} {
		m.must(m.Mail("sender@example.org", nil))
		for _, r := range tc.recipients {
			m.must(m.Rcpt(r, nil))
		}
		m.must(m.HeaderEnd())
		if _, _, err := m.BodyReadFrom(strings.NewReader(letter.body)); err != nil {
			t.Fatal(err)
		}
		lines := b.lines()
		if got := lines[len(lines)-1]["action"]; got != tc.action {
			t.Errorf("to %v: %v, want %s", tc.recipients, got, tc.action)
		}
	}
}
