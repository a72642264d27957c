package milter

import (
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// byUser lets all who connect be one ordinary user while it is true, and else the MTA.
type byUser struct{ atomic.Bool }

func (u *byUser) of(net.Conn) (user string, isOrdinary bool) {
	if u.Load() {
		return "uid:65534", true
	}
	return "uid:105", false
}

// TestUserChoosesNoNetwork is the attack "a network of his choice": a local user names a firm's network and sender
// with messages beyond their turn. They set back that user only, and his own address is no help to him.
func TestUserChoosesNoNetwork(t *testing.T) {
	oneProcessor(t)
	var user byUser
	b := start(t, Options{UserOf: user.of}, nil)
	knownSpam(t, b)
	end := spinning(b)
	defer end()
	user.Store(true)
	w := attacker(t, b, "198.51.100.1", "sender@example.org", styleSheetBomb(100_000))
	w.send('E', "")
	testenv.Eventually(t, "the message is beyond its turn", func() bool { return b.Load().Overtime == 1 })
	if n := b.Load().SetBack; n != 2 {
		t.Errorf("%d are set back, want the user and his network", n)
	}
	user.Store(false)
	expectSpam(t, b, "198.51.100.9")
	attacker(t, b, "198.51.100.9", "other@example.org", styleSheetBomb(100_001)).send('E', "")
	testenv.Eventually(t, "the firm's expensive message has its turn", func() bool { return b.Load().Overtime == 2 })
	end()
	testenv.Eventually(t, "all are answered", func() bool { return len(b.lines()) == 3 })
}

// TestUserProvesNothing is the attack "a proof for anybody": a local user writes the verifier's own field into a copy
// of a phish, which is reported then. The report is not held against the shop that he named: its next letter is
// spared. His own verdict goes by the proof.
func TestUserProvesNothing(t *testing.T) {
	db := openDB(t)
	var user byUser
	judged := make(chan Judgement, 1)
	b := start(t, Options{AuthservID: mx, UserOf: user.of, Judged: func(j Judgement) { judged <- j }}, nil)
	b.Server.db = db
	expect := func(asUser bool, body, want string) {
		t.Helper()
		user.Store(asUser)
		proof := []string{"Authentication-Results: mx.example.test; dkim=pass header.d=shop.example", "From: a@shop.example"}
		changes, _ := dial(t, "tcp", b.addr, offerAll, "203.0.114.7").send(mail{header: slices.Concat(proof, letter.header), body: body})
		if got := changed(changes); len(got) != 1 || !strings.HasPrefix(got[0], "+0 X-Spambloom: "+want) {
			t.Errorf("a user's %v: %q, want %s", asUser, got, want)
		}
		if j := <-judged; j.IsUsers != asUser || (j.From == "") != asUser {
			t.Errorf("judgement of %q, a user's %v, want %v", j.From, j.IsUsers, asUser)
		}
	}
	expect(true, proseOfBank, "clean;")
	testenv.Check(t, db.Report(mail{header: letter.header, body: proseOfBank}.set(), 0))
	expect(true, proseOfBank, "spam;") // nor is it noted later
	testenv.Check(t, db.Report(mail{header: letter.header, body: proseOfBank}.set(), 0))
	shopLetter := proseOfShop + proseOfBank[strings.Index(proseOfBank, "if any line"):]
	const spared = "clean; kind=text; spared=shop.example; spared-by=new-site;"
	expect(false, shopLetter, spared)
	expect(true, shopLetter, spared)
}

// The same holds at another protocol's port.
func TestUserProvesNothingAtDoor(t *testing.T) {
	judged := make(chan Judgement, 1)
	s := NewServer(openDB(t), Options{AuthservID: mx, Judged: func(j Judgement) { judged <- j }})
	for _, isUser := range []bool{true, false} {
		m := s.NewMail("spamd", "", "uid:7", isUser)
		_, err := m.Write([]byte("Authentication-Results: mx.example.test; dkim=pass header.d=shop.example\nFrom: a@shop.example\n\n" + proseOfBank))
		testenv.Check(t, err)
		m.Judge()
		m.Close()
		if j := <-judged; j.IsUsers != isUser || (j.From == "") != isUser {
			t.Errorf("a user's %v: judgement of %q, a user's %v", isUser, j.From, j.IsUsers)
		}
	}
}

// A user whose own mail finds no room behind his own does not make the site look unready, as mail of others does.
func TestUserMakesNothingUnready(t *testing.T) {
	for _, isUser := range []bool{true, false} {
		s := NewServer(openDB(t), Options{})
		for range 1_000 {
			s.fail(&message{options: s.options.Load(), isUsers: isUser}, causeOverload, errors.New("no turn"))
		}
		if fault := s.Fault(); (fault == nil) != isUser {
			t.Errorf("a user's %v: %v", isUser, fault)
		}
	}
}
