package milter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/header"
	"github.com/spambloom/spambloom/signature"
)

// A phish that copies the bank's notice was reported. The bank's next notice is spared if this site's
// own verifier proves its sender, which the header and the log name; without the proof it is spam.
func TestProvedSenderIsSpared(t *testing.T) {
	db := openDB(t)
	judged := make(chan Judgement, 4)
	b := start(t, Options{AuthservID: mx, Judged: func(j Judgement) { judged <- j }}, nil)
	b.Server.db = db
	notice := func(changed string) mail {
		return mail{header: letter.header, body: strings.Replace(proseOfBank, "appointment", changed, 1)}
	}
	bank := bloomdb.Sender{From: "bank.example"}
	for day, word := range []string{"meeting", "interview", "visit"} {
		db.Learn(signature.Set{Sketches: notice(word).set().Sketches}, bank, bloomdb.Evidence{}, time.Now().AddDate(0, 0, -day))
	}
	testenv.Check(t, db.Report(notice("lottery").set(), 0))
	const signed = "Authentication-Results: mx.example.test; dkim=pass header.d=bank.example"
	for _, test := range []struct {
		name, verdict, spared string
		header                []string
	}{
		{"proved", "clean", "bank.example", []string{signed, "From: a@bank.example"}},
		{"another sender", "spam", "", []string{strings.Replace(signed, "bank", "thief", 1), "From: a@thief.example"}},
		{"a foreign result", "spam", "", []string{strings.Replace(signed, "mx.", "evil.", 1), "From: a@bank.example"}},
		{"not aligned", "spam", "", []string{strings.Replace(signed, "bank", "thief", 1), "From: a@bank.example"}},
	} {
		sent := notice("callback")
		sent.header = slices.Concat(test.header, sent.header)
		changes, _ := dial(t, "tcp", b.addr, offerAll, "203.0.114.7").send(sent)
		verdict := strings.Join(changed(changes), "\n")
		lines := b.lines()
		line := lines[len(lines)-1]
		spared, _ := line["spared"].(string)
		if j := <-judged; (j.From == "bank.example" && db.Knows(j.From)) != (test.spared != "") {
			t.Errorf("%s: from %q", test.name, j.From)
		}
		if line["verdict"] != test.verdict || spared != test.spared {
			t.Errorf("%s: logged %v, spared by %q", test.name, line["verdict"], spared)
		}
		if want := "; spared=" + test.spared + ";"; !strings.HasPrefix(verdict, "+0 "+header.Verdict+": "+test.verdict+";") || strings.Contains(verdict, want) != (test.spared != "") {
			t.Errorf("%s: %s", test.name, verdict)
		}
	}
}

// What is learned has the day of the database, which does not believe each jump of the clock: by the
// clock alone, three jumps within minutes would make a spammer's domain a known sender.
func TestMailIsLearnedOnTheDatabasesDay(t *testing.T) {
	days := 0
	db, err := bloomdb.Open(bloomdb.Options{
		Dir: t.TempDir(), Site: "mx1", Reports: bloomdb.ReportOptions{Capacity: 1000}, Counts: bloomdb.CountOptions{Capacity: 1000},
		Now: func() time.Time { return time.Date(2031, 5, 1+days, 12, 0, 0, 0, time.UTC) },
	})
	testenv.Check(t, err)
	t.Cleanup(func() { testenv.Check(t, db.Close()) })
	b := start(t, Options{AuthservID: mx}, nil)
	b.Server.db = db
	client := dial(t, "tcp", b.addr, offerAll, "203.0.114.7")
	notice := func(changed string) mail {
		return mail{
			header: append([]string{"Authentication-Results: mx.example.test; dkim=pass header.d=bank.example", "From: a@bank.example"}, letter.header...),
			body:   strings.Replace(proseOfBank, "appointment", changed, 1),
		}
	}
	for _, word := range []string{"meeting", "interview", "visit"} {
		client.send(notice(word))
		days++
	}
	testenv.Check(t, db.Report(notice("lottery").set(), 0))
	client.send(notice("callback"))
	lines := b.lines()
	if line := lines[len(lines)-1]; line["spared"] != "bank.example" {
		t.Errorf("a sender of three days of the database is not known: %v", line)
	}
}

const proseOfBank = "Your statement for this quarter is waiting in the vault of your account. Please arrange an " +
	"appointment with the branch around the corner if any line looks unfamiliar, because our clerks can " +
	"explain each booking, print older pages, stop standing orders, and replace a card whose number " +
	"somebody else may have read. We never ask for passwords by telephone, and no courier collects envelopes.\r\n"

// At a new site, mail that shares a part of its text with a reported phish is spared if its sender is
// proved, and header and log say why. Without a proof it is spam, and so is a copy with a proof.
func TestNewSiteSparesProvedSender(t *testing.T) {
	db := openDB(t)
	b := start(t, Options{AuthservID: mx}, nil)
	b.Server.db = db
	testenv.Check(t, db.Report(mail{header: letter.header, body: proseOfBank}.set(), 0))
	const proved = "Authentication-Results: mx.example.test; dkim=pass header.d=shop.example"
	part := proseOfBank[strings.Index(proseOfBank, "if any line"):]
	for _, test := range []struct{ name, header, body, verdict, spared string }{
		{"a part, proved", proved, proseOfShop + part, "clean", "shop.example"},
		{"a part", "X-Other: 1", proseOfShop + part, "spam", ""},
		{"a copy, proved", proved, proseOfBank, "spam", ""},
	} {
		sent := mail{header: append([]string{test.header, "From: a@shop.example"}, letter.header...), body: test.body}
		changes, _ := dial(t, "tcp", b.addr, offerAll, "203.0.114.7").send(sent)
		lines := b.lines()
		line := lines[len(lines)-1]
		spared, _ := line["spared"].(string)
		if by, _ := line["spared_by"].(string); line["verdict"] != test.verdict || spared != test.spared || (by == "new-site") != (spared != "") {
			t.Errorf("%s: logged %v, spared %q by %q", test.name, line["verdict"], spared, by)
		}
		if verdict := strings.Join(changed(changes), "\n"); strings.Contains(verdict, "; spared=shop.example; spared-by=new-site;") != (test.spared != "") {
			t.Errorf("%s: %s", test.name, verdict)
		}
	}
}

const proseOfShop = "The orchard opens its gate on Saturday, and baskets stand ready beneath the oldest pear tree. " +
	"Children may ride the pony along the brook, while their parents taste cider from last autumn. "
