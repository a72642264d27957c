package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wire is an MTA that may say anything.
type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dialWire(t *testing.T, address string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	w := &wire{t, c, bufio.NewReader(c)}
	w.packet('O', "\x00\x00\x00\x06\x00\x00\x01\xff\x00\x00\x00\x00")
	w.answer()
	return w
}

func (w *wire) packet(code byte, data string) {
	w.t.Helper()
	b := binary.BigEndian.AppendUint32(nil, uint32(1+len(data)))
	if _, err := w.Write(append(append(b, code), data...)); err != nil {
		w.t.Error(err)
	}
}

func (w *wire) answer() (code byte, data string) {
	w.t.Helper()
	var head [5]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		w.t.Fatal(err)
	}
	rest := make([]byte, min(binary.BigEndian.Uint32(head[:4]), 1<<20)-1)
	if _, err := io.ReadFull(w.in, rest); err != nil {
		w.t.Fatal(err)
	}
	return head[4], string(rest)
}

// say sends a packet and waits until the daemon goes on.
func (w *wire) say(code byte, data string) {
	w.t.Helper()
	w.packet(code, data)
	if got, _ := w.answer(); got != 'c' {
		w.t.Errorf("answer to %q: %q", code, got)
	}
}

// letter is a mail as it comes over the wire.
type letter struct {
	client, queueID, from string
	to                    []string
	header                [][2]string
	body                  string
}

func (w *wire) begin(l letter) {
	w.t.Helper()
	family := "4"
	if netip.MustParseAddr(l.client).Is6() {
		family = "6"
	}
	w.say('C', "client.example\x00"+family+"\x00\x19"+l.client+"\x00")
	w.packet('D', "Mi\x00"+l.queueID+"\x00")
	w.say('M', l.from+"\x00")
	for _, to := range l.to {
		w.say('R', to+"\x00")
	}
	for _, f := range l.header {
		w.say('L', f[0]+"\x00"+f[1]+"\x00")
	}
	w.say('N', "")
	w.say('B', l.body)
}

// send is a whole mail. It waits for the last word: what is done with it, and the
// verdict with its fields; "" where it gets no header.
func (w *wire) send(l letter) (action, verdict string) {
	w.t.Helper()
	w.begin(l)
	return w.finish()
}

// finish is send's for a mail that has begun.
func (w *wire) finish() (action, verdict string) {
	w.t.Helper()
	w.packet('E', "")
	action = "accept"
	for {
		switch code, data := w.answer(); code {
		case 'c', 'a':
			return action, verdict
		case 'd':
			return "discard", ""
		case 'y':
			return map[string]string{"550": "reject", "451": "tempfail"}[data[:3]], ""
		case 'q':
			action = "quarantine"
		case 'i':
			if _, value, ok := strings.Cut(data, "X-Spambloom\x00"); ok {
				verdict = strings.Trim(value, " \x00")
			}
			if action == "accept" {
				action = "tag"
			}
		case 'h', 'm', 'p': // other changes of the header, progress
		default:
			w.t.Fatalf("answer %q", code)
		}
	}
}

// content are words that are in messages only; people are those that say who somebody
// is.
var (
	content = []string{"wordofthebody", "wordofthehtml", "wordofthesubject", "wordofthedisplay", "wordoftheheader", "wordofthefile", "wordofthegarbage", "wordofthereport"}
	people  = []string{"alicesender", "bobrecipient", "carolheader", "davereporter", "messageidword", "203.0.113.77", "2001:db8:77::1", "198.51.100.9", "evilsender", "evilrecipient", "policyperson"}
)

func privateLetter() letter {
	return letter{
		client: "203.0.113.77", queueID: "4QXtoken", from: "<alicesender@example.net>",
		to: []string{"<bobrecipient@example.org>", "<Bobrecipient+x@example.org>"},
		header: [][2]string{
			{"From", ` "wordofthedisplay" <carolheader@example.net>`}, {"Subject", " wordofthesubject"}, {"X-Custom", " wordoftheheader"},
			{"Message-ID", " <messageidword@example.net>"}, {"Received", " from [198.51.100.9]"}, {"MIME-Version", " 1.0"},
			{"Content-Type", ` multipart/mixed; boundary="b"`},
		},
		body: "--b\r\nContent-Type: text/html\r\n\r\n<p>wordofthehtml " + text() + "\r\n--b\r\nContent-Type: text/plain; name=wordofthefile.txt\r\n\r\nwordofthebody " + text() + "\r\n--b--\r\n",
	}
}

// hostileLetter tries to write lines of its own into the log.
func hostileLetter() letter {
	forged := "\nlevel=ERROR msg=forged {\"level\":\"ERROR\"}\r\x1b[2J\xff\u2028\" a=b \\"
	l := privateLetter()
	l.client, l.queueID = "2001:db8:77::1", "4QX"+forged
	l.from, l.to = "<evilsender"+forged+"@example.net>", []string{"<evilrecipient" + forged + "@example.org>", "<>", ""}
	l.header = append(l.header, [2]string{"Message-ID", " <messageidword\x00" + forged + "@example.net>"}, [2]string{"X" + forged, forged})
	return l
}

// logLine reads a line strictly, in the format of the log.
func logLine(format, line string) (map[string]string, error) {
	fields := make(map[string]string)
	if format == "json" {
		var values map[string]any
		if err := json.Unmarshal([]byte(line), &values); err != nil {
			return nil, err
		}
		for k, v := range values {
			fields[k] = fmt.Sprint(v)
		}
		return fields, nil
	}
	for rest := line; ; {
		key, after, ok := strings.Cut(rest, "=")
		if !ok || key == "" || strings.ContainsAny(key, " \"") {
			return nil, fmt.Errorf("no key: %q", rest)
		}
		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("%q stands there twice", key)
		}
		value, err := strconv.QuotedPrefix(after)
		if err == nil {
			after = after[len(value):]
			if value, err = strconv.Unquote(value); err != nil {
				return nil, err
			}
		} else {
			value, _, _ = strings.Cut(after, " ")
			after = after[len(value):]
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"=\`, r) && r != '\\' }) {
				return nil, fmt.Errorf("a value without quotes: %q", value)
			}
		}
		fields[key] = value
		if after == "" {
			return fields, nil
		}
		if rest, ok = strings.CutPrefix(after, " "); !ok {
			return nil, fmt.Errorf("no space behind the value: %q", after)
		}
	}
}

// exercise has the daemon log all that it logs of people and mail.
func (s *site) exercise(t *testing.T) (messages int) {
	w := dialWire(t, s.milter)
	for _, l := range []letter{privateLetter(), hostileLetter(), hostileLetter()} {
		w.send(l)
	}
	w.begin(privateLetter())
	w.say('B', "wordofthebody") // and away in the middle of the message
	w.Close()
	for _, garbage := range []string{"wordofthegarbage alicesender@example.net\r\n", "\x00\x00\x00\x15Xwordofthegarbage 1234"} {
		c, err := net.Dial("tcp", s.milter)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, garbage)
		c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, syscall.ETIMEDOUT) {
			t.Error(err)
		}
		c.Close()
	}
	spam := write(t, filepath.Join(s.dir, "spam.eml"), "From: carolheader@example.net\r\nSubject: wordofthesubject\r\n\r\nwordofthereport "+text())
	other := write(t, filepath.Join(s.dir, "other.eml"), "From: carolheader@example.net\r\nSubject: wordofthesubject\r\n\r\nwordofthereport "+text())
	for _, args := range [][]string{
		{"report", "--as", "davereporter@example.org", spam}, {"check", spam}, {"explain", spam},
		{"revoke", "--as", "davereporter", spam}, {"report", "--as", "davereporter", "--class", "phish", other},
		{"undo", "--since", "1h", "davereporter"}, {"never", other}, {"report", other},
	} {
		if r := s.cli(args...); r.code > 1 && (args[0] != "report" || args[1] == "--as") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	s.configure(t, "[log]", "[[policy]]\nname = \"p\"\nrecipients = [\"policyperson @example.org\"]\n[log]")
	s.reload(t, "not reloaded")
	s.configure(t, "policyperson @", "policyperson@")
	s.configure(t, `example.org"]`, "example.org\"]\nclean = \"accept\"")
	s.reload(t, "reloaded")
	return 3
}

// No log has content of a message, at any level, nor lines that a message wrote; with
// log.privacy nobody's address either.
func TestLogsHoldNoContent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format  string
		privacy bool
	}{{"text", false}, {"text", true}, {"json", false}, {"json", true}} {
		t.Run(fmt.Sprintf("%s, privacy %v", c.format, c.privacy), func(t *testing.T) {
			s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
			s.configure(t, `format = "json"`, fmt.Sprintf("format = %q\nlevel = \"debug\"\nprivacy = %v", c.format, c.privacy))
			s.start()
			messages := s.exercise(t)
			s.stop(syscall.SIGTERM)
			expectDiscreet(t, s.log(), c.format, c.privacy, messages)
		})
	}
}

func expectDiscreet(t *testing.T, log, format string, privacy bool, messages int) {
	t.Helper()
	for _, word := range content {
		if strings.Contains(log, word) {
			t.Errorf("%q is in the log", word)
		}
	}
	for _, word := range people {
		switch found := strings.Contains(strings.ToLower(log), word); {
		case found && privacy:
			t.Errorf("%q is in the log", word)
		case !found && !privacy && word != "carolheader" && word != "198.51.100.9":
			t.Errorf("%q is not in the log", word)
		}
	}
	var clients, senders []string
	for line := range strings.Lines(log) {
		fields, err := logLine(format, strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Errorf("%v in %q", err, line)
		}
		if fields["msg"] == "forged" || fields["level"] == "" {
			t.Errorf("a line of somebody else: %q", line)
		}
		if fields["msg"] == "message" {
			clients, senders = append(clients, fields["client"]), append(senders, fields["from"])
		}
	}
	if len(clients) != messages {
		t.Fatalf("%d lines of %d messages", len(clients), messages)
	}
	// The second and third were of the same people, the first was not.
	if clients[0] == clients[1] || clients[1] != clients[2] || senders[0] == senders[1] || senders[1] != senders[2] {
		t.Errorf("nobody can be followed: %q %q", clients, senders)
	}
	if strings.HasPrefix(clients[0], "h:") != privacy || strings.HasPrefix(senders[0], "h:") != privacy {
		t.Errorf("%q, %q", clients[0], senders[0])
	}
	if t.Failed() {
		t.Log(log)
	}
}

// Pseudonyms come and go with SIGHUP, and a restart keeps them.
func TestPrivacyReload(t *testing.T) {
	t.Parallel()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "").start()
	from := func() string {
		t.Helper()
		before := len(s.log())
		dialWire(t, s.milter).send(privateLetter())
		var from string
		eventually(t, "the line of the message", func() bool {
			for line := range strings.Lines(s.log()[before:]) {
				if fields, err := logLine("json", line); err == nil && fields["msg"] == "message" {
					from = fields["from"]
				}
			}
			return from != ""
		})
		return from
	}
	if got := from(); got != "alicesender@example.net" {
		t.Error(got)
	}
	s.configure(t, "[log]", "[log]\nprivacy = true")
	s.reload(t, `"reloaded","changed":["log.privacy"]`)
	name := from()
	if !strings.HasPrefix(name, "h:") {
		t.Error(name)
	}
	s.stop(syscall.SIGTERM)
	s.start()
	if got := from(); got != name {
		t.Errorf("%s after the start, %s before", got, name)
	}
	s.configure(t, "privacy = true", "privacy = false")
	s.reload(t, `"reloaded","changed":["log.privacy"]`)
	if got := from(); got != "alicesender@example.net" {
		t.Error(got)
	}
}
