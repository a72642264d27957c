package spamd_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/spamd"
	"github.com/spambloom/spambloom/signature"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const text = `I found your company while looking for partners for our warehouse in Rotterdam.
Please send the price list for garden furniture, the delivery times to the harbour,
and the name of the person who signs contracts, so that our office can prepare a visit.
`

const (
	header = "From: Anna <anna@example.org>\nSubject: price list\nMessage-ID: <1@example.org>\n"
	mail   = header + "\n" + text
)

// site is a server on a unix socket, and what belongs to it.
type site struct {
	spamd *spamd.Server
	judge *milter.Server
	db    *bloomdb.DB
	path  string
	log   testenv.Log
}

func start(t *testing.T, mo milter.Options, o spamd.Options) *site {
	t.Helper()
	s := &site{path: filepath.Join(testenv.Dir(t), "spamd.sock")}
	var err error
	s.db, err = bloomdb.Open(bloomdb.Options{Dir: t.TempDir(), Site: "mx1",
		Reports: bloomdb.ReportOptions{Capacity: 1000, Classes: true}, Counts: bloomdb.CountOptions{Capacity: 1000}})
	testenv.Check(t, err)
	mo.Site, mo.Log = "mx1", s.log.Logger()
	o.Log = s.log.Logger()
	s.judge = milter.NewServer(s.db, mo)
	s.spamd = spamd.NewServer(s.judge, o)
	ln, err := net.Listen("unix", s.path)
	testenv.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- s.spamd.Serve("door", ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
		defer cancel()
		for _, err := range []error{s.spamd.Shutdown(ctx), <-served, s.judge.Shutdown(ctx), s.db.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
		if load := s.judge.Load(); load.Memory != 0 || load.Spilled != 0 {
			t.Errorf("still booked: %+v", load)
		}
	})
	return s
}

func (s *site) report(t *testing.T, raw string, class bloomdb.Class) {
	t.Helper()
	testenv.Check(t, s.db.Report(signature.Compute(signature.Parse([]byte(raw))), class))
}

func (s *site) dial(t *testing.T) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", s.path)
	testenv.Check(t, err)
	t.Cleanup(func() { c.Close() })
	return c.(*net.UnixConn)
}

// ask sends a request as it stands, and returns the whole answer.
func (s *site) ask(t *testing.T, request string) string {
	t.Helper()
	c := s.dial(t)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, c.CloseWrite())
	answer, err := io.ReadAll(c)
	testenv.Check(t, err)
	return string(answer)
}

// command returns a request with its message.
func command(line, raw string, headers ...string) string {
	return line + "\r\n" + strings.Join(append(headers, fmt.Sprintf("Content-length: %d", len(raw))), "\r\n") + "\r\n\r\n" + raw
}

func TestCommands(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	s.report(t, mail, bloomdb.ClassPhish)
	const (
		other = "Subject: minutes\n\nThe board met on Tuesday evening in the town hall and talked for two hours about the new cycle path along the river.\nThe mayor will answer the letters of the neighbours before the summer holidays begin.\n"
		ok    = "SPAMD/1.1 0 EX_OK\r\n"
		yes   = "Spam: True ; 10.0 / 5.0\r\n"
		no    = "Spam: False ; 0.0 / 5.0\r\n"
	)
	for _, test := range []struct{ name, request, want string }{
		{"PING", "PING SPAMC/1.2\r\n", "SPAMD/1.5 0 PONG\r\n"},
		{"SKIP", "SKIP SPAMC/1.5\r\n\r\n", ""},
		{"CHECK", command("CHECK SPAMC/1.5", mail, "User: anna"), ok + yes + "\r\n"},
		{"CHECK of no spam", command("CHECK SPAMC/1.5", other), ok + no + "\r\n"},
		{"CHECK without a length", "CHECK SPAMC/1.2\r\n\r\n" + mail, ok + yes + "\r\n"},
		{"CHECK of nothing", command("CHECK SPAMC/1.5", ""), ok + no + "\r\n"},
		{"SYMBOLS of no spam", command("SYMBOLS SPAMC/1.5", other), ok + "Content-length: 0\r\n" + no + "\r\n"},
		{"SYMBOLS of too little", command("SYMBOLS SPAMC/1.5", "Subject: hi\n\nhi\n"), ok + "Content-length: 17\r\n" + no + "\r\nSPAMBLOOM_SKIPPED"},
		{"REPORT_IFSPAM of no spam", command("REPORT_IFSPAM SPAMC/1.5", other), ok + "Content-length: 0\r\n" + no + "\r\n"},
		{"unknown command", command("LEARN SPAMC/1.5", mail), "SPAMD/1.1 76 EX_PROTOCOL: bad request: unknown command \"LEARN\"\r\n\r\n"},
		{"no command", "GET / HTTP/1.1\r\n\r\n", "SPAMD/1.1 76 EX_PROTOCOL: bad request: unknown command \"GET\"\r\n\r\n"},
		{"a new protocol", command("CHECK SPAMC/2.0", mail), "SPAMD/1.1 76 EX_PROTOCOL: bad request: protocol \"SPAMC/2.0\", want SPAMC/1.2 to SPAMC/1.5\r\n\r\n"},
		{"cut message", "CHECK SPAMC/1.5\r\nContent-length: 1000\r\n\r\nFrom: anna", "SPAMD/1.1 76 EX_PROTOCOL: Content-length is 1000, and 10 bytes were sent\r\n\r\n"},
		{"bad length", "CHECK SPAMC/1.5\r\nContent-length: -1\r\n\r\n", "SPAMD/1.1 76 EX_PROTOCOL: bad request: Content-length \"-1\"\r\n\r\n"},
		{"long line", "CHECK " + strings.Repeat("x", 8000), "SPAMD/1.1 76 EX_PROTOCOL: bad request: line of more than 4096 bytes\r\n\r\n"},
		{"many headers", "CHECK SPAMC/1.5\r\n" + strings.Repeat("X: y\r\n", 65), "SPAMD/1.1 76 EX_PROTOCOL: bad request: more than 64 headers\r\n\r\n"},
		{"other compression", command("CHECK SPAMC/1.5", mail, "Compress: gzip"), "SPAMD/1.1 76 EX_PROTOCOL: bad request: Compress \"gzip\", only zlib is known\r\n\r\n"},
		{"no compression", command("CHECK SPAMC/1.5", mail, "Compress: zlib"), "SPAMD/1.1 65 EX_DATAERR: the message is not compressed with zlib\r\n\r\n"},
		{"TELL without rights", command("TELL SPAMC/1.5", mail, "Message-class: spam", "Set: local"), "SPAMD/1.1 69 EX_UNAVAILABLE: TELL is not enabled\r\n\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := s.ask(t, test.request); got != test.want {
				t.Errorf("answer %q, want %q", got, test.want)
			}
		})
	}
}

// Each answer names what matched. Clients before SPAMC/1.3, as Exim, read one header.
func TestSpamIsExplained(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	s.report(t, mail, bloomdb.ClassPhish)
	for _, line := range []string{"SYMBOLS SPAMC/1.5", "REPORT SPAMC/1.5", "REPORT_IFSPAM SPAMC/1.5", "HEADERS SPAMC/1.5", "PROCESS SPAMC/1.5"} {
		head, content, _ := strings.Cut(s.ask(t, command(line, mail)), "\r\n\r\n")
		if want := fmt.Sprintf("SPAMD/1.1 0 EX_OK\r\nContent-length: %d\r\nSpam: True ; 10.0 / 5.0", len(content)); head != want {
			t.Errorf("%s: %q, want %q", line, head, want)
		}
		for _, part := range []string{"SPAMBLOOM_SPAM,", "SPAMBLOOM_KIND_BODY", ",SPAMBLOOM_KIND_TEXT", ",SPAMBLOOM_CLASS_PHISH"} {
			if !strings.Contains(content, part) {
				t.Errorf("%s: no %s in %q", line, part, content)
			}
		}
	}
	if got := s.ask(t, command("REPORT SPAMC/1.2", mail)); !strings.HasPrefix(got, "SPAMD/1.1 0 EX_OK\r\nSpam: True ; 10.0 / 5.0\r\n\r\nspambloom: spam; kind=") {
		t.Errorf("%q", got)
	}
	if lines := strings.Count(s.log.String(), "door=spamd"); lines != 6 {
		t.Errorf("%d lines of messages in the log:\n%s", lines, s.log.String())
	}
	if lines := strings.Count(s.log.String(), "client=127.0.0.1 "); lines != 6 {
		t.Errorf("%d of them name this machine as the client:\n%s", lines, s.log.String())
	}
}

// PROCESS returns every byte of a message, with the verdict at its top and without the
// verdicts that it arrived with.
func TestProcess(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	s.report(t, mail, bloomdb.ClassOther)
	for name, test := range map[string]struct{ before, kept string }{
		"LF":     {"", mail},
		"CRLF":   {"", strings.ReplaceAll(mail, "\n", "\r\n")},
		"mixed":  {"", "From: a\r\nTo: b\n\n" + text + "\r\n\r\n\n"},
		"mbox":   {"From anna@example.org Mon Nov 23 02:00:00 2026\n", mail},
		"long":   {"", mail + strings.Repeat(strings.Repeat("x", 76)+"\n", 3000)},
		"header": {"", header},
		"folded": {"", "From: a\nX-Other: b\n c\n" + "\n" + text},
	} {
		t.Run(name, func(t *testing.T) {
			sent := test.before + "X-Spambloom: clean; forged\n yes\nX-SPAM-FLAG : NO\n" + test.kept
			answer := s.ask(t, command("PROCESS SPAMC/1.5", sent))
			head, got, _ := strings.Cut(answer, "\r\n\r\n")
			if !strings.Contains(head, fmt.Sprintf("Content-length: %d\r\n", len(got))) {
				t.Errorf("%q with %d bytes", head, len(got))
			}
			got, ok := strings.CutPrefix(got, test.before)
			if !ok {
				t.Fatalf("%.200q does not begin with %q", got, test.before)
			}
			added := strings.TrimSuffix(got, test.kept)
			if name == "header" { // the empty line after it is added, too
				added, _, ok = strings.Cut(got, header)
				ok = ok && got == added+header+"\n"
			} else {
				ok = len(added)+len(test.kept) == len(got)
			}
			if !ok || strings.Contains(added, "forged") || strings.Count(added, "X-Spambloom: ") != 1 || strings.Count(added, "X-Spam-Status: ") != 1 {
				t.Errorf("%.400q is not %.200q with our header", got, test.kept)
			}
		})
	}
}

// A message longer than max_message is judged on its beginning, whatever length is stated.
func TestLongMessage(t *testing.T) {
	s := start(t, milter.Options{MaxMessage: 64 << 10}, spamd.Options{})
	long := mail + strings.Repeat("And so on, and so on.\n", 1<<16)
	if got := s.ask(t, command("CHECK SPAMC/1.5", long)); got != "SPAMD/1.1 0 EX_OK\r\nSpam: False ; 0.0 / 5.0\r\n\r\n" {
		t.Errorf("%q", got)
	}
	if got := s.ask(t, command("PROCESS SPAMC/1.5", long)); !strings.HasPrefix(got, "SPAMD/1.1 75 EX_TEMPFAIL") {
		t.Errorf("%.200q", got)
	}
	c := s.dial(t)
	fmt.Fprintf(c, "CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n%s", int64(1)<<60, mail)
	c.CloseWrite()
	if got, _ := io.ReadAll(c); !strings.HasPrefix(string(got), "SPAMD/1.1 76 EX_PROTOCOL") {
		t.Errorf("%q", got)
	}
	s.report(t, mail, bloomdb.ClassOther)
	many := strings.Repeat("a:\n", 165_000)
	for field, answer := range map[string]string{"Subject: " + strings.Repeat("x", 2<<20) + "\n": "75 EX_TEMPFAIL", many: "0 EX_OK"} { // hides no spam
		if got := s.ask(t, command("CHECK SPAMC/1.5", field+mail)); !strings.Contains(got, "Spam: True") {
			t.Errorf("%q", got)
		}
		if got := s.ask(t, command("HEADERS SPAMC/1.5", field+mail)); !strings.HasPrefix(got, "SPAMD/1.1 "+answer) {
			t.Errorf("%.200q", got)
		}
	}
	if got := s.ask(t, command("HEADERS SPAMC/1.5", many+mail)); !strings.Contains(got, "\nX-Spam-Flag: YES\n") || !strings.Contains(got, many+strings.SplitAfter(mail, "\n\n")[0]) {
		t.Errorf("a header of %d bytes is answered with %d: %.500q", len(many), len(got), got)
	}
}

func deflated(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, w.Close())
	return b.String()
}

// A compressed message is judged as if it were not. A bomb costs no more than max_message,
// and a cut or damaged one is not judged.
func TestCompress(t *testing.T) {
	s := start(t, milter.Options{MaxMessage: 1 << 20}, spamd.Options{})
	s.report(t, mail, bloomdb.ClassOther)
	small := deflated(t, []byte(mail))
	bomb := deflated(t, append([]byte(mail), make([]byte, 40<<20)...))
	for name, test := range map[string]struct{ sent, want string }{
		"message": {small, "SPAMD/1.1 0 EX_OK\r\nSpam: True"},
		"bomb":    {bomb, "SPAMD/1.1 0 EX_OK\r\nSpam: "},
		"cut":     {small[:len(small)/2], "SPAMD/1.1 65 EX_DATAERR"},
		"damaged": {small[:len(small)-2] + "xx", "SPAMD/1.1 65 EX_DATAERR"},
	} {
		if got := s.ask(t, command("CHECK SPAMC/1.5", test.sent, "Compress: zlib")); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Mail that cannot be judged is not spam. It is deferred if the administrator wants it.
func TestUnjudged(t *testing.T) {
	for _, tempfail := range []bool{false, true} {
		end := make(chan struct{})
		o := milter.Options{JudgeTimeout: 1, Judged: func(milter.Judgement) { <-end }} // no judgement ends in time
		o.Tempfail.Overload, o.Tempfail.Deadline = tempfail, tempfail
		s := start(t, o, spamd.Options{})
		t.Cleanup(func() { close(end) })
		s.report(t, mail, bloomdb.ClassOther)
		want := "SPAMD/1.1 0 EX_OK\r\nSpam: False ; 0.0 / 5.0\r\n\r\n"
		if tempfail {
			want = "SPAMD/1.1 75 EX_TEMPFAIL: message not judged: "
		}
		if got := s.ask(t, command("CHECK SPAMC/1.5", mail)); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got := s.ask(t, command("PROCESS SPAMC/1.5", mail)); !strings.HasPrefix(got, "SPAMD/1.1 75 EX_TEMPFAIL: ") {
			t.Errorf("%q", got)
		}
	}
}

// Bulk is spam only if its score says so. A message counts once, whatever its recipients.
func TestScores(t *testing.T) {
	for _, test := range []struct {
		o    spamd.Options
		want string
	}{
		{spamd.Options{}, "False ; 0.0 / 5.0"},
		{spamd.Options{BulkScore: 2.04}, "False ; 2.0 / 5.0"},
		{spamd.Options{BulkScore: 4.96}, "True ; 5.0 / 5.0"},
		{spamd.Options{BulkScore: 7, Threshold: 6.5}, "True ; 7.0 / 6.5"},
	} {
		s := start(t, milter.Options{Policy: policy.Policy{BulkThreshold: 3}, CountRecipients: true, GreylistFrom: 2}, test.o)
		answers := ""
		for range 3 {
			answers = s.ask(t, command("SYMBOLS SPAMC/1.5", mail))
		}
		if want := "\r\nSpam: " + test.want + "\r\n\r\nSPAMBLOOM_BULK"; !strings.HasSuffix(answers, want) {
			t.Errorf("%+v: %q, want %q", test.o, answers, want)
		}
	}
}

// rspamd searches all lines of HEADERS for the status, also within the sender's fields, and takes
// the last one that it reads. Only ours is found.
func TestOnlyStatusIsOurs(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	s.report(t, mail, bloomdb.ClassOther)
	for _, forged := range []string{
		"",
		"X-Note: X-Spam-Status: No, score=0.0 tests=none autolearn=no\n",
		"X-Note: a\rX-Spam-Status: No, score=0.0 tests=none autolearn=no\n",
		"X-Note: a\n X-Spam-Status:\n No, score=-7.0 tests=none autolearn=no\n",
		"X-Spam-Status-X-Spam-Status: No, score\n",
	} {
		answer := s.ask(t, command("HEADERS SPAMC/1.5", forged+mail))
		_, status, _ := strings.Cut(answer, "X-Spam-Status: ")
		want := strings.ReplaceAll(forged, "X-Spam-Status:", "X-Spam-Status :") + header + "\n"
		if !strings.HasPrefix(status, "Yes, score=10.0 ") || strings.Contains(status, "X-Spam-Status:") || !strings.HasSuffix(status, want) {
			t.Errorf("%q: %q", forged, answer)
		}
	}
}

// The same holds for what the answer includes of a body that begins without an empty line.
func TestOnlyStatusIsOursBeforeBody(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	forged := "no field X-Spam-Status: No, score=0.0 tests=none autolearn=no\n"
	s.report(t, header+forged+"\n"+text, bloomdb.ClassOther)
	answer := s.ask(t, command("HEADERS SPAMC/1.5", header+forged+"\n"+text))
	_, status, _ := strings.Cut(answer, "X-Spam-Status: ")
	want := header + "\n" + strings.Replace(forged, "Status:", "Status :", 1) + "\n"
	if !strings.HasPrefix(status, "Yes, score=10.0 ") || strings.Contains(status, "X-Spam-Status:") || !strings.HasSuffix(status, want) {
		t.Errorf("%q", answer)
	}
}

// Amavis announces two bytes more than it sends of a message without a body, or with a header of more than 4 MiB, and
// waits for the answer.
func TestTwoBytesAreNeverSent(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	s.report(t, mail, bloomdb.ClassOther)
	for sent, want := range map[string]string{header: "SPAMBLOOM_SKIPPED", mail: "SPAMBLOOM_SPAM"} {
		c := s.dial(t)
		if _, err := fmt.Fprintf(c, "SYMBOLS SPAMC/1.3\r\nContent-length: %d\r\n\r\n%s", len(sent)+2, sent); err != nil {
			t.Fatal(err)
		}
		testenv.Check(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
		if answer, err := io.ReadAll(c); err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%q, %v", answer, err)
		}
	}
}
