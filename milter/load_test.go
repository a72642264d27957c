package milter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// Each limit is counted once for each message that reached it, under its own name.
func TestLimitsAreCounted(t *testing.T) {
	const metric = "spambloom_limits_total"
	b := start(t, Options{}, func(j judged) policy.Decision {
		d := policy.Decision{Verdict: policy.Clean, Action: policy.Tag}
		for i, name := range signature.LimitNames() {
			if strings.Contains(string(j.content.Body), "<"+name+">") {
				d.Limits |= 1 << i
			}
		}
		return d
	})
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	m.send(mail{body: "none\r\n"})
	for i, name := range signature.LimitNames() {
		if n := b.metric(metric, name); n != 0 {
			t.Errorf("%s: counted %v times before", name, n)
		}
		m.send(mail{body: "<" + name + ">\r\n"})
		if n, all := b.metric(metric, name), b.metric(metric, ""); n != 1 || all != float64(i+1) {
			t.Errorf("%s: counted %v times, all %v, want once and %d", name, n, all, i+1)
		}
	}
	lines := b.lines()
	if got := lines[0]["limits"]; got != nil {
		t.Errorf("without a limit: limits %v in the log", got)
	}
	if got := lines[1]["limits"]; got != signature.LimitNames()[0] {
		t.Errorf("limits %v in the log", got)
	}
}

// Limits reached in signing and judging are counted, in mail with and without signatures.
func TestLimitsOfJudgement(t *testing.T) {
	db := openDB(t)
	b := start(t, Options{}, nil)
	b.Server.db = db
	if err := db.Report(letter.set(), bloomdb.ClassOther); err != nil { // otherwise no group is looked up
		t.Fatal(err)
	}
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	var cycle strings.Builder // the same words repeatedly, with others between them
	for i := range 110 {
		fmt.Fprintf(&cycle, "b%cd%cfeg ", 'a'+i%10, 'a'+i/10)
	}
	m.send(mail{body: strings.Repeat(strings.TrimSpace(cycle.String())+"\r\n", 400)})
	m.send(mail{header: []string{"Content-Type: text/html"}, body: strings.Repeat("<div>", 300)})
	var bitten []string
	for _, name := range signature.LimitNames() {
		if b.metric("spambloom_limits_total", name) == 1 {
			bitten = append(bitten, name)
		}
	}
	if want := []string{"text", "open-elements", "words", "groups"}; !slices.Equal(bitten, want) {
		t.Errorf("counted %q, want %q", bitten, want)
	}
}

// A spam is counted by whether this site or others reported it, and each other site has the
// credit for those that this site did not report.
func TestSpamIsCountedBySource(t *testing.T) {
	var origins []string
	b := start(t, Options{Site: "mx1"}, func(judged) policy.Decision {
		return policy.Decision{Verdict: policy.Spam, Action: policy.Tag, Origins: origins}
	})
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	for _, origins = range [][]string{{"mx1"}, {"mx1", "mx2"}, {"mx2"}, {"mx2", "mx3"}, {"mx3"}} {
		m.send(mail{body: "spam\r\n"})
	}
	for label, want := range map[string]float64{"own": 1, "both": 1, "others": 3} {
		if n := b.metric("spambloom_spam_total", label); n != want {
			t.Errorf("source %s: %v, want %v", label, n, want)
		}
	}
	for site, want := range map[string]float64{"mx1": 0, "mx2": 2, "mx3": 2} {
		if n := b.metric("spambloom_spam_by_site_total", site); n != want {
			t.Errorf("site %s: %v, want %v", site, n, want)
		}
	}
}
