package milter

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/signature"
)

// hog holds n bytes of an unfinished message.
func hog(t *testing.T, b *bench, n int) *wire {
	t.Helper()
	w := dialWire(t, b.addr, offerWait&^gomilter.OptSkip)
	w.send('M', "<s>\x00")
	for n > 0 {
		size := min(n, 60_000)
		w.send('B', strings.Repeat("x", size))
		w.expect("c")
		n -= size
	}
	return w
}

// Messages that stop half-way hold what they sent, but together no more than the limit and
// a share for each. The share is enough for ordinary mail of others.
func TestMessagesInFlightAreBounded(t *testing.T) {
	const limit = 1 << 20
	b := start(t, Options{MaxMessage: limit, MaxMemory: limit}, clean)
	var hogs []*wire
	for range 10 {
		hogs = append(hogs, hog(t, b, limit/4))
	}
	if held := b.held.Taken(); held < limit || held > limit+10*share {
		t.Errorf("%d bytes held, want %d to %d", held, limit, limit+10*share)
	}
	if n := b.metric("spambloom_milter_truncated_total", "memory"); n < 5 {
		t.Errorf("%v messages counted as cut", n)
	}
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	body := strings.Repeat("y", share-1000)
	m.send(mail{header: []string{"Subject: ordinary"}, body: body})
	if c := b.contents()[0].content; c.Truncated || string(c.Body) != body {
		t.Errorf("beside hogs an ordinary message has %d bytes, truncated %v", len(c.Body), c.Truncated)
	}
	m.send(mail{body: strings.Repeat("y", 2*share)})
	if c := b.contents()[1].content; !c.Truncated || len(c.Body) > share || len(c.Body) < share-1000 {
		t.Errorf("beside hogs a long message has %d bytes, truncated %v", len(c.Body), c.Truncated)
	}
	for _, w := range hogs {
		w.Close()
	}
	testenv.Eventually(t, "room again", func() bool { return b.held.Taken() == 0 })
	m.send(mail{body: strings.Repeat("y", limit/2)})
	if c := b.contents()[2].content; c.Truncated || len(c.Body) != limit/2 {
		t.Errorf("with room a long message has %d bytes, truncated %v", len(c.Body), c.Truncated)
	}
}

// TestUserLeavesMemory is the attack "all memory": a local user opens connections over TCP whose messages stop
// half-way. Together they hold three quarters of the memory, and long mail of others is kept whole.
func TestUserLeavesMemory(t *testing.T) {
	const limit, most = 1 << 20, 16 << 20
	var isOther atomic.Bool
	b := start(t, Options{MaxMessage: limit, MaxMemory: most, UserOf: func(net.Conn) (string, bool) { return fmt.Sprint(isOther.Load()), true }}, clean)
	for range 20 {
		hog(t, b, limit-1000)
	}
	if held := b.held.Taken(); held < most*3/4-limit || held > most*3/4+20*share {
		t.Errorf("%d bytes held", held)
	}
	isOther.Store(true)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	m.send(mail{body: strings.Repeat("y", limit/2)})
	if c := b.contents()[0].content; c.Truncated || len(c.Body) != limit/2 {
		t.Errorf("beside a hog, another user's long message has %d bytes, truncated %v", len(c.Body), c.Truncated)
	}
}

// A packet longer than MTAs send uses memory only for the bytes received, and is refused if
// there is none.
func TestLongPacketsAreBounded(t *testing.T) {
	b := start(t, Options{MaxMemory: 1_300_000}, clean)
	field := packet('L', "X-Long\x00"+strings.Repeat("x", 600_000)+"\x00")
	var long []*wire
	for i := range 2 {
		w := dialWire(t, b.addr, offerAll)
		w.write(field[:len(field)-1])
		testenv.Eventually(t, "most of a long packet", func() bool { return b.held.Taken() > int64(i+1)*500_000 })
		long = append(long, w)
	}
	refused := dialWire(t, b.addr, offerAll)
	refused.Write(field[:len(field)-1]) // the server closes half-way
	refused.expectClosed()
	testenv.Eventually(t, "the failure count", func() bool { return b.metric("spambloom_milter_failures_total", "memory") == 1 })
	for range 5 {
		dialWire(t, b.addr, offerAll).write(field[:protocol.Head+1]) // a claimed length costs nothing
	}
	long[1].Close()
	testenv.Eventually(t, "room", func() bool { return b.held.Taken() < 600_000 })
	long[0].write(field[len(field)-1:])
	testenv.Eventually(t, "the packet's memory back", func() bool { n := b.held.Taken(); return n >= 600_000 && n < 700_000 })
	long[0].send('E', "")
	long[0].expect("ic")
	if h := b.contents()[0].content.Header; len(h) != 1 || len(h[0].Value) != 600_000 {
		t.Errorf("%d fields", len(h))
	}
	testenv.Eventually(t, "room for all", func() bool { return b.held.Taken() == 0 })
}

// numbered returns a body whose lines are numbered.
func numbered(bytes int) string {
	var body strings.Builder
	for i := 0; body.Len() < bytes; i++ {
		fmt.Fprintf(&body, "line %d of a long body\r\n", i)
	}
	return body.String()
}

func TestSpilledBodies(t *testing.T) {
	const limit = 1 << 20
	folder := t.TempDir()
	var users atomic.Int64
	everyOther := func(net.Conn) (string, bool) { return fmt.Sprint(users.Add(1)), true } // one has no more than three quarters
	b := start(t, Options{MaxMessage: limit, MaxMemory: limit / 2, SpillFolder: folder, UserOf: everyOther}, clean)
	hogs := []*wire{hog(t, b, limit/2), hog(t, b, limit/2), hog(t, b, limit/2)}
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	body := numbered(limit / 2)
	for i := range 2 {
		m.send(mail{header: []string{"Subject: long"}, body: body})
		if c := b.contents()[i].content; c.Truncated || string(c.Body) != body {
			t.Errorf("message %d: %d of %d bytes, truncated %v", i, len(c.Body), len(body), c.Truncated)
		}
	}
	m.send(mail{body: numbered(2 * limit)})
	if c := b.contents()[2].content; !c.Truncated || len(c.Body) != limit || string(c.Body) != numbered(2 * limit)[:limit] {
		t.Errorf("over the limit for one: %d of %d bytes, truncated %v", len(c.Body), limit, c.Truncated)
	}
	if n := b.metric("spambloom_milter_spilled_total", ""); n != 5 { // the first hog fits in
		t.Errorf("%v messages counted as spilled", n)
	}
	load := b.Load()
	if load.Memory > limit/2+2*share || load.Spilled < limit-2*share || load.Spilled > limit {
		t.Errorf("three half messages: %+v", load)
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
		t.Errorf("in the folder: %v, %v", names, err)
	}
	if n := openSpills(t, folder); n != 2 {
		t.Errorf("%d files open, want 2", n)
	}
	for _, w := range hogs {
		w.Close()
	}
	testenv.Eventually(t, "nothing left", func() bool { return b.Load().Spilled == 0 && b.Load().Memory == 0 })
	if n := openSpills(t, folder); n != 0 {
		t.Errorf("%d files still open", n)
	}
}

// openSpills counts this process's open files in folder.
func openSpills(t *testing.T, folder string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	testenv.Need(t, err == nil && len(links) > 0, "/proc")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, folder+"/") {
			n++
		}
	}
	return n
}

// All temporary files together are bounded as well.
func TestSpilledBytesAreBounded(t *testing.T) {
	const limit = 100_000
	b := start(t, Options{MaxMessage: 5 * limit, MaxMemory: limit, SpillFolder: t.TempDir()}, clean)
	for range 3 {
		hog(t, b, 3*limit)
	}
	if spilled := b.Load().Spilled; spilled > SpilledLimit*limit || spilled < 2*limit {
		t.Errorf("%d bytes in files, want no more than %d", spilled, SpilledLimit*limit)
	}
	if n := b.metric("spambloom_milter_truncated_total", "memory"); n == 0 {
		t.Error("no message is cut")
	}
}

// Without a disk the message is judged on its beginning, and the log reports it once.
func TestSpillFails(t *testing.T) {
	for name, folder := range map[string]func(*testing.T) string{
		"no folder": func(t *testing.T) string { return filepath.Join(t.TempDir(), "away") },
		"full disk": fullDisk,
		"no descriptors": func(t *testing.T) string {
			noDescriptors(t)
			return os.TempDir()
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{MaxMemory: 1 << 20}
			b := start(t, o, clean)
			m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
			o.SpillFolder, o.Log = folder(t), b.options.Load().Log
			b.Reload(o)
			body := numbered(3 << 20)
			for i := range 2 {
				m.send(mail{body: body})
				c := b.contents()[i].content
				if !c.Truncated || len(c.Body) < share-1000 || !strings.HasPrefix(body, string(c.Body)) {
					t.Errorf("%d of %d bytes, truncated %v", len(c.Body), len(body), c.Truncated)
				}
			}
			if n := b.metric("spambloom_milter_failures_total", "spill"); n != 2 {
				t.Errorf("failures metric %v", n)
			}
			if lines := b.log.lines(t, "message judged on its beginning only"); len(lines) != 1 {
				t.Errorf("%d log lines", len(lines))
			}
		})
	}
}

// A part that cannot be read back is missing, and nothing else fails. This also holds if
// the message is abandoned while it is read.
func TestSpilledBodyIsLost(t *testing.T) {
	b := start(t, Options{MaxMemory: share, SpillFolder: t.TempDir()}, clean)
	m := &message{options: b.options.Load(), server: b.Server, holder: new(room.Client)}
	m.addChunk([]byte(strings.Repeat("x", share)))
	m.addChunk([]byte(strings.Repeat("y", share)))
	if c := m.content(); c.Truncated || len(c.Body) != 2*share {
		t.Fatalf("%d bytes, truncated %v", len(c.Body), c.Truncated)
	}
	late := *m // as in judge
	m.release()
	if c := late.content(); !c.Truncated || len(c.Body) != share {
		t.Errorf("given up: %d bytes, truncated %v", len(c.Body), c.Truncated)
	}
}

// startWithoutRoom starts a server whose memory is used up by messages that are arriving.
func startWithoutRoom(t *testing.T, o Options, db *bloomdb.DB) *bench {
	t.Helper()
	const limit = 1 << 20
	o.MaxMessage, o.MaxMemory = limit, limit
	b := start(t, o, nil)
	b.Server.db = db
	for range 6 {
		hog(t, b, limit/4)
	}
	return b
}

// A sender can use up the memory by many large messages. A message that has no room then is judged by its
// beginning, whatever is done with messages over max_message, or deferred: its end may be reported.
func TestMessageWithoutRoom(t *testing.T) {
	for _, o := range []Options{{}, {SkipOversize: true}} {
		b := startWithoutRoom(t, o, openDB(t))
		m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
		long := mail{body: strings.Repeat("garden lantern copper ", 2*share/22)}
		if got := verdictOf(t, m, long); got != "skipped; reason=oversize" {
			t.Errorf("oversize skipped %v: %q", o.SkipOversize, got)
		}
		deferring := *b.options.Load()
		deferring.Tempfail.Overload = true
		b.Reload(deferring)
		if got := verdictOf(t, m, long); got != "t" && got != "y" {
			t.Errorf("oversize skipped %v, on_overload = tempfail: %q", o.SkipOversize, got)
		}
		b.Server.judge = func(msg *message) policy.Decision { // as after half of judge_timeout
			msg.short = true
			return b.judgeMessage(msg)
		}
		if got := verdictOf(t, m, long); got != "t" && got != "y" {
			t.Errorf("oversize skipped %v, on_overload = tempfail, judged late: %q", o.SkipOversize, got)
		}
	}
}

// A message from a slow MTA is not cut by a reload, nor by the memory that earlier messages
// hold.
func TestReloadOfMemory(t *testing.T) {
	b := start(t, Options{}, clean)
	w := hog(t, b, 200_000)
	b.Reload(Options{MaxMessage: 1000, MaxMemory: 1000, Site: "mx1", JudgeTimeout: time.Minute})
	w.send('B', "the end")
	w.expect("c")
	w.send('E', "")
	w.expect("ic")
	if c := b.contents()[0].content; c.Truncated || len(c.Body) != 200_007 {
		t.Errorf("%d bytes, truncated %v", len(c.Body), c.Truncated)
	}
}

// Reported spam before an attachment that has no room is spam by its beginning, also where long mail is
// skipped.
func TestSpamBeforeWhatHasNoRoom(t *testing.T) {
	for _, o := range []Options{{}, {SkipOversize: true}} {
		db := openDB(t)
		reported := mail{header: letter.header}
		for i := range 300 {
			reported.body += fmt.Sprintf("The customer %c%c wants a golden offer of lanterns.\r\n", 'a'+i%26, 'a'+i/26)
		}
		testenv.Check(t, db.Report(reported.set(), bloomdb.ClassOther))
		b := startWithoutRoom(t, o, db)
		spam := mail{
			header: []string{reported.header[0], "Content-Type: multipart/mixed; boundary=b"},
			body: "--b\r\nContent-Type: text/plain\r\n\r\n" + reported.body + "--b\r\nContent-Type: application/pdf\r\n" +
				"Content-Transfer-Encoding: base64\r\n\r\n" + strings.Repeat("QUJDREVGR0hJSktMTU5P\r\n", 3*share/22) + "--b--\r\n",
		}
		m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
		if got := verdictOf(t, m, spam); !strings.HasPrefix(got, "spam") {
			t.Errorf("oversize skipped %v: %q", o.SkipOversize, got)
		}
	}
}

// A short letter needs no signature of its own beside a file, which has one. If the file is cut, because
// it is longer than MaxMessage or has no room, the letter is recognised all the same.
func TestShortSpamBeforeWhatIsCut(t *testing.T) {
	const text = "The customer wants a golden offer of lanterns, bridges, kettles, orchards and violins before the harbour freezes.\r\n"
	reported := mail{header: letter.header, body: text + "Write to the captain of the northern island for prices.\r\n"}
	spam := mail{
		header: []string{reported.header[0], "Content-Type: multipart/mixed; boundary=b"},
		body: "--b\r\nContent-Type: text/plain\r\n\r\n" + reported.body + "--b\r\nContent-Type: application/pdf\r\n" +
			"Content-Transfer-Encoding: base64\r\n\r\n" + strings.Repeat("QUJDREVGR0hJSktMTU5P\r\n", 3*share/22) + "--b--\r\n",
	}
	other := spam
	other.body = strings.Replace(spam.body, reported.body, "The doctor sees a silver garden of mirrors, carpets, needles, valleys and trumpets after the desert blooms.\r\n", 1)
	for name, start := range map[string]func(db *bloomdb.DB) *bench{
		"no room": func(db *bloomdb.DB) *bench { return startWithoutRoom(t, Options{}, db) },
		"too long": func(db *bloomdb.DB) *bench {
			b := start(t, Options{MaxMessage: 2 * share}, nil)
			b.Server.db = db
			return b
		},
	} {
		db := openDB(t)
		testenv.Check(t, db.Report(reported.set(), bloomdb.ClassOther))
		b := start(db)
		if got := verdictOf(t, dial(t, "tcp", b.addr, offerAll, "192.0.2.1"), spam); !strings.HasPrefix(got, "spam") {
			t.Errorf("%s: %q", name, got)
		}
		if got := verdictOf(t, dial(t, "tcp", b.addr, offerAll, "192.0.2.2"), other); !strings.HasPrefix(got, "skipped; reason=oversize") {
			t.Errorf("%s, other text: %q", name, got)
		}
	}
}

// A reported text is recognised in the part that is cut: whatever stands behind it there, in a comment or as empty
// lines, need not arrive. Neither do fields hide it from a look at the beginning.
func TestSpamInWhatIsCut(t *testing.T) {
	const text = "<p>The customer wants a golden offer of lanterns, bridges, kettles, orchards and violins before the harbour freezes.\r\n" +
		"<p>Write to the captain of the northern island for prices.\r\n"
	reported := mail{header: append([]string{"Content-Type: text/html"}, letter.header...), body: text}
	padded, answer, other := reported, reported, reported
	padded.body = text + "<!--" + strings.Repeat("padding\r\n", 3*share/9) + "-->"
	answer.header, answer.body = append([]string{"In-Reply-To: <x@a.example>"}, reported.header...), padded.body
	other.body = "<p>The doctor sees a silver garden of mirrors, carpets, needles, valleys and trumpets after the desert blooms.\r\n" +
		padded.body[len(text):]
	db := openDB(t)
	testenv.Check(t, db.Report(reported.set(), bloomdb.ClassOther))
	b := startWithoutRoom(t, Options{}, db)
	for want, mails := range map[string][]mail{"spam": {padded, answer}, "skipped; reason=oversize": {other}} {
		for _, m := range mails {
			if got := verdictOf(t, dial(t, "tcp", b.addr, offerAll, "192.0.2.1"), m); !strings.HasPrefix(got, want) {
				t.Errorf("%q, want %s", got, want)
			}
		}
	}

	behind := message{options: &Options{MaxMessage: 1 << 20}, short: true, kept: 2 * share}
	for range 1000 {
		behind.header = append(behind.header, signature.Field{Name: "X-A", Value: "b"})
	}
	behind.body.Add([]byte(text))
	if c := behind.content(); c.Truncated || string(c.Body) != text {
		t.Errorf("behind fields: %d bytes, truncated %v", len(c.Body), c.Truncated)
	}
	behind.oversize = true
	if !behind.content().Truncated {
		t.Error("the beginning of a message that is cut is taken for a whole")
	}
}
