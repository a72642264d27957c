package milter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// openDB opens a small database and checks it at the test's end.
func openDB(t *testing.T) *bloomdb.DB {
	t.Helper()
	db, err := bloomdb.Open(bloomdb.Options{
		Dir: t.TempDir(), Site: "mx1",
		Reports: bloomdb.ReportOptions{Capacity: 1000},
		Counts:  bloomdb.CountOptions{Capacity: 1000},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Check(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// letter is a mail with enough text to sign.
var letter = mail{
	header: []string{"Subject: Your invoice", "Content-Type: text/plain"},
	body: strings.Repeat("Dear customer, the wonderful offer of our astonishing company "+
		"reaches only selected people who understand golden opportunities.\r\n", 8),
}

func (m mail) set() signature.Set {
	var fields []signature.Field
	for _, line := range m.header {
		name, value, _ := strings.Cut(line, ": ")
		fields = append(fields, signature.Field{Name: name, Value: value})
	}
	return signature.Compute(signature.Message{Header: fields, Body: []byte(m.body)})
}

func TestReportedSpamIsTagged(t *testing.T) {
	db := openDB(t)
	b := start(t, Options{CountRecipients: true, Policy: Policy{BulkThreshold: 20}}, nil)
	b.Server.db = db
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	set := letter.set()
	expect := func(rcpts int, want ...string) {
		t.Helper()
		msg := letter
		msg.rcpts = rcpts
		changes, answer := m.send(msg)
		if got := changed(changes); !slices.Equal(got, want) || answer.Code != 'c' {
			t.Errorf("changes %q, answer %q, want %q", got, answer.Code, want)
		}
	}
	header := func(verdict string, s signature.Signature, count int) string {
		return fmt.Sprintf("+0 X-Spambloom: %s; kind=%s; count=%d; sites=1; site=mx1; id=%s", verdict, s.Kind, count, s.ID())
	}
	expect(1, header("clean", set.Counting[0], 1))
	expect(4, header("clean", set.Counting[0], 5))
	if err := db.Report(set); err != nil {
		t.Fatal(err)
	}
	expect(1, "+0 X-Spam-Flag: YES", header("spam", set.Signatures[0], 6))
	if err := db.Revoke(set); err != nil {
		t.Fatal(err)
	}
	expect(13, header("clean", set.Counting[0], 19))
	expect(1, header("bulk", set.Counting[0], 20))
	if line := b.lines()[2]; line["ids"] != ids(set.Signatures) {
		t.Errorf("ids %v, want %v", line["ids"], ids(set.Signatures))
	}
}

func ids(signatures []signature.Signature) string {
	var all []string
	for _, s := range signatures {
		all = append(all, s.ID())
	}
	return strings.Join(all, ",")
}

func TestTooLittleContent(t *testing.T) {
	b := start(t, Options{}, nil)
	b.Server.db = openDB(t)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	for _, msg := range []mail{{}, {header: []string{"Subject: only a header"}}, {body: "ok\r\n"}} {
		changes, _ := m.send(msg)
		if got := changed(changes); !slices.Equal(got, []string{"+0 X-Spambloom: skipped; reason=too-little-content; site=mx1"}) {
			t.Errorf("%+v: changes %q", msg, got)
		}
	}
}

func TestCountErrorCostsNoMail(t *testing.T) {
	db, err := bloomdb.Open(bloomdb.Options{Dir: t.TempDir(), Site: "mx1",
		Reports: bloomdb.ReportOptions{Capacity: 1000}, Counts: bloomdb.CountOptions{Capacity: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil { // Count fails from now on; Judge is memory only
		t.Fatal(err)
	}
	b := start(t, Options{}, nil)
	b.Server.db = db
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	for range 3 {
		changes, _ := m.send(letter)
		if got := changed(changes); len(got) != 1 || !strings.HasPrefix(got[0], "+0 X-Spambloom: clean") {
			t.Errorf("changes %q", got)
		}
	}
	if lines := b.log.lines(t, "count is not on disk"); len(lines) != 1 {
		t.Errorf("%d log lines, want one a minute", len(lines))
	}
	if n := b.metric("spambloom_milter_failures_total", "count"); n != 3 {
		t.Errorf("failures metric %v", n)
	}
}
