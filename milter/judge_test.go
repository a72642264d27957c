package milter

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/signature"
)

// openDB opens a small database and checks it at the test's end.
func openDB(t *testing.T) *bloomdb.DB {
	t.Helper()
	db, err := bloomdb.Open(bloomdb.Options{
		Dir: t.TempDir(), Site: "mx1",
		Reports: bloomdb.ReportOptions{Capacity: 1000, Classes: true},
		Counts:  bloomdb.CountOptions{Capacity: 1000},
	})
	testenv.Check(t, err)
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

func (m mail) set() signature.Set { return signature.Compute(m.message()) }

func (m mail) message() signature.Message {
	var fields []signature.Field
	for _, line := range m.header {
		name, value, _ := strings.Cut(line, ": ")
		fields = append(fields, signature.Field{Name: name, Value: value})
	}
	return signature.Message{Header: fields, Body: []byte(m.body)}
}

func TestReportedSpamIsTagged(t *testing.T) {
	db := openDB(t)
	b := start(t, Options{CountRecipients: true, CountNetworks: prefixes("127.0.0.0/8"), Policy: policy.Policy{BulkThreshold: 20}}, nil)
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
		kind, class := s.Kind.String(), ""
		if verdict == "spam" {
			class = "; class=scam"
		}
		return fmt.Sprintf("+0 X-Spambloom: %s; kind=%s%s; count=%d; sites=1; site=mx1; id=%s", verdict, kind, class, count, s.ID())
	}
	expect(1, header("clean", set.Counting[0], 1))
	expect(4, header("clean", set.Counting[0], 5))
	testenv.Check(t, db.Report(set, bloomdb.ClassScam))
	expect(1, header("spam", set.Signatures[0], 6))
	testenv.Check(t, db.Revoke(set))
	expect(13, header("clean", set.Counting[0], 19))
	expect(1, header("bulk", set.Counting[0], 20))
	want := ids(set.Signatures) + ",sketch:" // the exact ones, then the sketch
	if line := b.lines()[2]; !strings.HasPrefix(fmt.Sprint(line["ids"]), want) {
		t.Errorf("ids %v, want %v", line["ids"], want)
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
	testenv.Check(t, err)
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
	if lines := b.log.lines(t, "count not written to disk"); len(lines) != 1 {
		t.Errorf("%d log lines, want one a minute", len(lines))
	}
	if n := b.metric("spambloom_milter_failures_total", "count"); n != 3 {
		t.Errorf("failures metric %v", n)
	}
}

// waiting is a session, without a connection's loop, at the end of a message with n
// recipients.
func waiting(s *Server, n uint32) (*session, *message) {
	x := newConn(&door.Conn{Conn: &script{}}, s).session
	return x, &message{options: s.options.Load(), server: s, holder: new(room.Client), Envelope: policy.Envelope{Count: n}, countsAll: s.options.Load().CountRecipients}
}

// Many costly messages at once: as many are judged as there are processors. The others wait
// in order, even beyond a progress packet to their MTAs.
func TestMessagesAreJudgedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		processors := runtime.GOMAXPROCS(0)
		s := NewServer(nil, Options{CountRecipients: true, JudgeTimeout: time.Hour})
		begun, release := make(chan uint32, processors+5), make(chan struct{})
		s.judge = func(m *message) policy.Decision {
			begun <- m.sightings()
			<-release
			return clean(judged{})
		}
		for n := range processors + 5 {
			x, msg := waiting(s, uint32(n+1))
			go x.server.judgeInTurn(msg, x.conn.progress)
			synctest.Wait()
		}
		time.Sleep(s.progress + time.Second)
		synctest.Wait()
		if len(begun) != processors {
			t.Errorf("%d messages are judged at a time, want %d", len(begun), processors)
		}
		for range 5 {
			release <- struct{}{}
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		close(begun)
		last := uint32(0)
		for n := range begun {
			if n != last+1 {
				t.Errorf("message %d is judged after message %d", n, last)
			}
			last = n
		}
		if last != uint32(processors+5) {
			t.Errorf("the last message judged is %d", last)
		}
	})
}

// A message that gave up waiting costs no work, and the messages that delayed it cost no
// other message its turn.
func TestWaitingEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil, Options{})
		begun, release := 0, make(chan struct{})
		var mu sync.Mutex
		s.judge = func(*message) policy.Decision {
			mu.Lock()
			begun++
			mu.Unlock()
			<-release
			return clean(judged{})
		}
		for range runtime.GOMAXPROCS(0) {
			x, msg := waiting(s, 1)
			go x.server.judgeInTurn(msg, x.conn.progress)
		}
		synctest.Wait()
		x, msg := waiting(s, 1)
		if d := x.server.judgeInTurn(msg, x.conn.progress); d.Reason != "overload" {
			t.Errorf("a message that waits in vain is %+v", d)
		}
		close(release)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if begun != runtime.GOMAXPROCS(0) {
			t.Errorf("%d messages were judged, one of them abandoned", begun)
		}
		x, msg = waiting(s, 1)
		if d := x.server.judgeInTurn(msg, x.conn.progress); d.Verdict != policy.Clean {
			t.Errorf("afterwards a message is %+v", d)
		}
	})
}

// If a truncated message has no signature, truncation is the reason: the whole message may
// have had enough content.
func TestUnsignedReason(t *testing.T) {
	b := start(t, Options{MaxMessage: 400}, nil)
	b.Server.db = openDB(t)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	const header = "Content-Type: text/plain"
	for body, want := range map[string]string{
		"Hello.\r\n": "skipped; reason=too-little-content; site=mx1",
		"Hello.\r\n" + strings.Repeat("\r\n", 1000) + letter.body: "skipped; reason=oversize; site=mx1",
	} {
		changes, _ := m.send(mail{header: []string{header}, body: body})
		if got := changed(changes); !slices.Equal(got, []string{"+0 X-Spambloom: " + want}) {
			t.Errorf("%d bytes: %q, want %q", len(body), got, want)
		}
	}
}
