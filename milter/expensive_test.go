package milter

import (
	"bytes"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/health"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// oneProcessor lets the test run on one processor.
func oneProcessor(t *testing.T) {
	t.Helper()
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// attacker is a connection of an SMTP client with its message sent up to its end.
func attacker(t *testing.T, b *bench, client, sender string, body string) *wire {
	t.Helper()
	w := dialWire(t, b.addr, offerWait&^gomilter.OptSkip)
	w.send('C', "h\x004\x00\x19"+client+"\x00")
	w.send('M', "<"+sender+">\x00")
	w.send('R', "<r@example.org>\x00")
	w.send('L', "Content-Type\x00text/html\x00")
	for chunk := range slices.Chunk([]byte(body), 60_000) {
		w.send('B', string(chunk))
		w.expect("c")
	}
	return w
}

// styleSheetBomb is the mail of shared/attacks: every paragraph is matched against all
// rules.
func styleSheetBomb(size int) string {
	sheet := "<style>" + strings.Repeat("b i p{top:0}", 65<<10/12) + "</style>"
	return sheet + strings.Repeat("<p>", (size-len(sheet))/3)
}

// knownSpam makes the letter reported spam.
func knownSpam(t *testing.T, b *bench) {
	t.Helper()
	b.Server.db = openDB(t)
	testenv.Check(t, b.Server.db.Report(letter.set(), bloomdb.ClassOther))
}

// expectSpam expects known spam from that client to be found.
func expectSpam(t *testing.T, b *bench, client string) {
	t.Helper()
	changes, _ := dial(t, "tcp", b.addr, offerAll, client).send(letter)
	if !slices.ContainsFunc(changed(changes), func(c string) bool { return strings.HasPrefix(c, "+0 X-Spambloom: spam;") }) {
		t.Errorf("known spam from %s is not found: %q", client, changed(changes))
	}
}

// The attack of shared/attacks: six style sheet bombs from six addresses, on one processor.
// Known spam from a seventh address is still found.
func TestStyleSheetBombsOfSix(t *testing.T) {
	oneProcessor(t)
	b := start(t, Options{JudgeTimeout: time.Hour}, nil)
	knownSpam(t, b)
	bomb := styleSheetBomb(100_000)
	var six []*wire
	for i := range 6 {
		six = append(six, attacker(t, b, fmt.Sprintf("198.51.%d.1", i), fmt.Sprintf("bomb%d@example.net", i), bomb))
	}
	for _, w := range six {
		w.send('E', "")
	}
	expectSpam(t, b, "192.0.2.7")
	if fault := b.Fault(); fault != nil || b.health.IsSuspended() {
		t.Errorf("suspended %v, fault %v", b.health.IsSuspended(), fault)
	}
	testenv.Eventually(t, "all are answered", func() bool { return len(b.lines()) == 7 })
}

// spinning makes signing messages with a body that begins with "<style>" as expensive as
// possible: it ends when the test decides.
func spinning(b *bench) (end func()) {
	done := make(chan struct{})
	b.Server.sign = func(m signature.Message, unpacking signature.Unpacking, stop <-chan struct{}) signature.Set {
		for bytes.HasPrefix(m.Body, []byte("<style>")) {
			select {
			case <-done:
				return signature.Set{}
			default:
			}
		}
		return signature.ComputeWith(m, unpacking, stop)
	}
	return sync.OnceFunc(func() { close(done) })
}

// The cost of a message is charged to the turn of its sender. Six messages never end on one
// processor; known spam of others, and of the six senders themselves, is still found.
func TestExpensiveMailCostsItsSendersTurn(t *testing.T) {
	oneProcessor(t)
	b := start(t, Options{JudgeTimeout: time.Hour}, nil)
	knownSpam(t, b)
	end := spinning(b)
	defer end()
	var six []*wire
	for i := range 6 {
		w := attacker(t, b, fmt.Sprintf("198.51.100.%d", i+1), fmt.Sprintf("bomb%d@example.net", i), styleSheetBomb(100_000+i))
		w.send('E', "")
		six = append(six, w)
	}
	for _, client := range []string{"192.0.2.7", "198.51.100.3", "198.51.100.99"} {
		expectSpam(t, b, client)
	}
	if fault := b.Fault(); fault != nil || b.health.IsSuspended() {
		t.Errorf("suspended %v, fault %v", b.health.IsSuspended(), fault)
	}
	// They have one network, so one of them is being signed and the others wait.
	if load := b.Load(); load.Overtime != 1 || load.Waiting != 5 || load.SetBack < 3 {
		t.Errorf("load %+v", load)
	}
	if n := b.metric("spambloom_milter_overtime_total", ""); n != 1 {
		t.Errorf("%v messages counted as beyond their turn", n)
	}
	if lines := b.log.lines(t, "message takes long to sign: its sender is set back"); len(lines) != 1 || !strings.HasPrefix(fmt.Sprint(lines[0]["client"]), "198.51.100.") {
		t.Errorf("log %v", lines) // any of the six: their connections are read at once
	}
	end()
	for _, w := range six {
		w.expect("ic")
	}
}

// The memory of a large message that never ends is that of other expensive mail. Twelve
// messages of 1 MiB of twelve senders, enough for all memory of large mail and more, are
// signed until the test ends it, on one processor. Known spam of that size is found beside
// them, and of the twelve as many are signed as have room in their half of the memory.
func TestLargeMailBesideExpensiveMail(t *testing.T) {
	testenv.Servers(t)
	oneProcessor(t)
	b := start(t, Options{JudgeTimeout: time.Hour}, nil)
	large := mail{header: letter.header, body: letter.body + strings.Repeat("\r\n"+strings.Repeat(" ", 70), 1<<20/72)}
	b.Server.db = openDB(t)
	testenv.Check(t, b.Server.db.Report(large.set(), bloomdb.ClassOther))
	b.Server.progress = time.Hour // no packets of progress among the answers
	done := make(chan struct{})
	b.Server.sign = func(m signature.Message, unpacking signature.Unpacking, stop <-chan struct{}) signature.Set {
		if !bytes.HasPrefix(m.Body, []byte("<style>")) {
			return signature.ComputeWith(m, unpacking, stop)
		}
		select { // it takes no processor time from the others, and yet has its quantum at once
		case <-stop:
		case <-done:
		}
		return signature.Set{}
	}
	bomb := styleSheetBomb(1 << 20)
	var all []*wire
	for i := range 12 {
		w := attacker(t, b, fmt.Sprintf("198.51.%d.1", i), fmt.Sprintf("bomb%d@example.net", i), bomb)
		w.send('E', "")
		all = append(all, w)
	}
	const most = 3 // what the memory of messages beyond their quantum has room for
	testenv.Eventually(t, "those without room have given their memory back", func() bool {
		load := b.Load()
		return load.Overtime == most && load.Waiting == len(all)-most
	})
	b.Server.quantum = time.Hour // from now on: this test must not depend on the machine's speed
	for i := range 3 {
		changes, _ := dial(t, "tcp", b.addr, offerAll, fmt.Sprintf("192.0.%d.1", i)).send(large)
		if !slices.ContainsFunc(changed(changes), func(c string) bool { return strings.HasPrefix(c, "+0 X-Spambloom: spam;") }) {
			t.Errorf("large spam is not found: %q", changed(changes))
		}
	}
	if fault := b.Fault(); fault != nil || b.health.IsSuspended() {
		t.Errorf("suspended %v, fault %v", b.health.IsSuspended(), fault)
	}
	close(done)
	for _, w := range all {
		w.expect("ic")
	}
}

// bombs is a server in a bubble. Signing hangs for messages from 192.0.2.0/24 until release
// is closed.
func bombs(o Options) (s *Server, release chan struct{}) {
	s, release = NewServer(nil, o), make(chan struct{})
	s.judge = func(m *message) policy.Decision {
		if netip.MustParsePrefix("192.0.2.0/24").Contains(m.Client) {
			m.stage.EnterSigning()
			<-release
			m.stage.EnterOurs()
		}
		return clean(judged{})
	}
	return s, release
}

// Dozens of messages from anywhere that take longer than the deadline to sign neither
// suspend judging nor make the daemon look unready.
func TestExpensiveMailDoesNotSuspendJudging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, release := bombs(Options{})
		var all sync.WaitGroup
		var late tally
		for i := range 3 * tripWindow {
			x, msg := client(s, byte(i))
			all.Go(func() { late.add(x.server.judgeInTurn(msg, x.conn.progress), 0) })
		}
		all.Wait()
		if n := late.count["faileddeadline"]; n != 3*tripWindow {
			t.Errorf("of %d messages: %v", 3*tripWindow, late.count)
		}
		if fault := s.Fault(); fault != nil || s.health.IsSuspended() {
			t.Errorf("suspended %v, fault %v", s.health.IsSuspended(), fault)
		}
		x, msg := client(s, 1)
		msg.Client = netip.MustParseAddr("203.0.113.1")
		if d := x.server.judgeInTurn(msg, x.conn.progress); d.Verdict != policy.Clean {
			t.Errorf("mail of another sender: %+v", d)
		}
		close(release)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Judging is suspended by a fault of this site. An expensive message as a probe neither
// delays the next probe nor keeps judging suspended.
func TestExpensiveProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, release := bombs(Options{})
		for range tripRow {
			s.health.Admit(s.turns.HasFree())
			s.outcome(false, health.NotInTime)
		}
		var expensive sync.WaitGroup
		for i := range closeRow {
			x, msg := client(s, byte(i))
			expensive.Go(func() { x.server.judgeInTurn(msg, x.conn.progress) })
			time.Sleep(time.Second) // beyond its turn
			y, other := client(s, 0)
			other.Client = netip.MustParseAddr("203.0.113.1")
			if d := y.server.judgeInTurn(other, y.conn.progress); d.Verdict != policy.Clean {
				t.Errorf("probe %d: %+v", i, d)
			}
		}
		if s.health.IsSuspended() {
			t.Error("still suspended")
		}
		close(release)
		expensive.Wait()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Past its deadline a message is still being signed, and its memory stays booked until that
// ends.
func TestMemoryOfAbandonedMessages(t *testing.T) {
	b := start(t, Options{JudgeTimeout: 50 * time.Millisecond}, nil)
	b.Server.db = openDB(t)
	end := spinning(b)
	defer end()
	w := attacker(t, b, "198.51.100.1", "bomb@example.net", styleSheetBomb(100_000))
	w.send('E', "")
	w.expect("ic")
	w.send('Q', "")
	w.expectClosed()
	testenv.Eventually(t, "the connection's end", func() bool { return b.Load().Connections == 0 })
	if held := b.held.Taken(); held < 100_000 {
		t.Errorf("%d bytes are booked", held)
	}
	end()
	testenv.Eventually(t, "room again", func() bool { return b.held.Taken() == 0 })
}
