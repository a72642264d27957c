package mta

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// content are words that occur only in messages; identities are words that identify a person.
var (
	content    = []string{"wordofthebody", "wordofthehtml", "wordofthesubject", "wordofthedisplay", "wordoftheheader", "wordofthefile", "wordofthegarbage", "wordofthereport"}
	identities = []string{"alicesender", "bobrecipient", "carolheader", "davereporter", "messageidword", "203.0.113.77", "2001:db8:77::1", "198.51.100.9", "evilsender", "evilrecipient", "policyperson"}
)

func privateLetter() harness.Letter {
	return harness.Letter{
		Client: "203.0.113.77", QueueID: "4QXtoken", From: "<alicesender@example.net>",
		LetterTo: []string{"<bobrecipient@example.org>", "<Bobrecipient+x@example.org>"},
		Header: [][2]string{
			{"From", ` "wordofthedisplay" <carolheader@example.net>`}, {"Subject", " wordofthesubject"}, {"X-Custom", " wordoftheheader"},
			{"Message-ID", " <messageidword@example.net>"}, {"Received", " from [198.51.100.9]"}, {"MIME-Version", " 1.0"},
			{"Content-Type", ` multipart/mixed; boundary="b"`},
		},
		Body: "--b\r\nContent-Type: text/html\r\n\r\n<p>wordofthehtml " + harness.Text() + "\r\n--b\r\nContent-Type: text/plain; name=wordofthefile.txt\r\n\r\nwordofthebody " + harness.Text() + "\r\n--b--\r\n",
	}
}

// hostileLetter tries to write lines of its own into the log.
func hostileLetter() harness.Letter {
	forged := "\nlevel=ERROR msg=forged {\"level\":\"ERROR\"}\r\x1b[2J\xff\u2028\" a=b \\"
	l := privateLetter()
	l.Client, l.QueueID = "2001:db8:77::1", "4QX"+forged
	l.From, l.LetterTo = "<evilsender"+forged+"@example.net>", []string{"<evilrecipient" + forged + "@example.org>", "<>", ""}
	l.Header = append(l.Header, [2]string{"Message-ID", " <messageidword\x00" + forged + "@example.net>"}, [2]string{"X" + forged, forged})
	return l
}

// logLine parses a line strictly, in the format of the log.
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
			return nil, fmt.Errorf("%q occurs twice", key)
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
			return nil, fmt.Errorf("no space after the value: %q", after)
		}
	}
}

// exercise makes the daemon log everything that it logs about people and mail.
func exercise(s *harness.Site, t *testing.T) (messages int) {
	w := harness.DialWire(t, s.Milter)
	for _, l := range []harness.Letter{privateLetter(), hostileLetter(), hostileLetter()} {
		w.Send(l)
	}
	w.Begin(privateLetter())
	w.Say('B', "wordofthebody") // disconnect in the middle of the message
	w.Close()
	for _, garbage := range []string{"wordofthegarbage alicesender@example.net\r\n", "\x00\x00\x00\x15Xwordofthegarbage 1234"} {
		c, err := net.Dial("tcp", s.Milter)
		testenv.Check(t, err)
		io.WriteString(c, garbage)
		c.SetReadDeadline(time.Now().Add(testenv.Patience))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, syscall.ETIMEDOUT) {
			t.Error(err)
		}
		c.Close()
	}
	spam := harness.Write(t, filepath.Join(s.Dir, "spam.eml"), "From: carolheader@example.net\r\nSubject: wordofthesubject\r\n\r\nwordofthereport "+harness.Text())
	other := harness.Write(t, filepath.Join(s.Dir, "other.eml"), "From: carolheader@example.net\r\nSubject: wordofthesubject\r\n\r\nwordofthereport "+harness.Text())
	for _, args := range [][]string{
		{"report", "--as", "davereporter@example.org", spam}, {"check", spam}, {"explain", spam},
		{"revoke", "--as", "davereporter", spam}, {"report", "--as", "davereporter", "--class", "phish", other},
		{"undo", "--since", "1h", "davereporter"}, {"never", other}, {"report", other},
	} {
		if r := s.CLI(args...); r.Code > 1 && (args[0] != "report" || args[1] == "--as") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	s.Configure(t, "[log]", "[[policy]]\nname = \"p\"\nrecipients = [\"policyperson @example.org\"]\n[log]")
	s.Reload(t, "reload failed")
	s.Configure(t, "policyperson @", "policyperson@")
	s.Configure(t, `example.org"]`, "example.org\"]\nclean = \"accept\"")
	s.Reload(t, "reloaded")
	return 3
}

// The log contains no content of a message at any level, and no lines written by a message;
// with log.privacy it contains no personal address either.
func TestLogsHoldNoContent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format  string
		privacy bool
	}{{"text", false}, {"text", true}, {"json", false}, {"json", true}} {
		t.Run(fmt.Sprintf("%s, privacy %v", c.format, c.privacy), func(t *testing.T) {
			s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
			s.Configure(t, `format = "json"`, fmt.Sprintf("format = %q\nlevel = \"debug\"\nprivacy = %v", c.format, c.privacy))
			s.Start()
			messages := exercise(s, t)
			s.Stop(syscall.SIGTERM)
			expectDiscreet(t, s.Log(), c.format, c.privacy, messages)
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
	for _, word := range identities {
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
			t.Errorf("a foreign line: %q", line)
		}
		if fields["msg"] == "message" {
			clients, senders = append(clients, fields["client"]), append(senders, fields["from"])
		}
	}
	if len(clients) != messages {
		t.Fatalf("%d lines of %d messages", len(clients), messages)
	}
	// The second and third were from the same person, the first was not.
	if clients[0] == clients[1] || clients[1] != clients[2] || senders[0] == senders[1] || senders[1] != senders[2] {
		t.Errorf("no person can be followed: %q %q", clients, senders)
	}
	if strings.HasPrefix(clients[0], "h:") != privacy || strings.HasPrefix(senders[0], "h:") != privacy {
		t.Errorf("%q, %q", clients[0], senders[0])
	}
	if t.Failed() {
		t.Log(log)
	}
}

// Pseudonyms are switched by SIGHUP, and a restart keeps them.
func TestPrivacyReload(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	from := func() string {
		t.Helper()
		before := len(s.Log())
		harness.DialWire(t, s.Milter).Send(privateLetter())
		var from string
		testenv.Eventually(t, "the line of the message", func() bool {
			for line := range strings.Lines(s.Log()[before:]) {
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
	s.Configure(t, "[log]", "[log]\nprivacy = true")
	s.Reload(t, `"reloaded","changed":["log.privacy"]`)
	name := from()
	if !strings.HasPrefix(name, "h:") {
		t.Error(name)
	}
	s.Stop(syscall.SIGTERM)
	s.Start()
	if got := from(); got != name {
		t.Errorf("%s after the start, %s before", got, name)
	}
	s.Configure(t, "privacy = true", "privacy = false")
	s.Reload(t, `"reloaded","changed":["log.privacy"]`)
	if got := from(); got != "alicesender@example.net" {
		t.Error(got)
	}
}
