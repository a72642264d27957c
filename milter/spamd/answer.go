package spamd

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/policy"
)

// Code is the code of an answer, from sysexits.h.
type Code int

// The codes.
const (
	CodeOK       Code = 0
	CodeDataErr  Code = 65 // the message cannot be used
	CodeNoAccess Code = 69 // not available here
	CodeSoftware Code = 70
	CodeTempFail Code = 75
	CodeProtocol Code = 76 // not a request
	CodeNoPerm   Code = 77
	CodeTimeout  Code = 79 // as in spamd
)

var codeNames = map[Code]string{
	CodeOK: "EX_OK", CodeDataErr: "EX_DATAERR", CodeNoAccess: "EX_UNAVAILABLE", CodeSoftware: "EX_SOFTWARE",
	CodeTempFail: "EX_TEMPFAIL", CodeProtocol: "EX_PROTOCOL", CodeNoPerm: "EX_NOPERM", CodeTimeout: "EX_TIMEOUT",
}

// String returns the name of the code, as clients expect it after the number.
func (c Code) String() string { return codeNames[c] }

// Error is an answer that is no success.
type Error struct {
	Code Code
	Text string // for the client's user
}

func (e *Error) Error() string { return e.Code.String() + ": " + e.Text }

// head returns an answer without headers or content.
func head(code Code, text string) []byte {
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	return fmt.Appendf(nil, "SPAMD/1.1 %d %s: %s\r\n\r\n", code, code, line)
}

// result is what the answers to a judged message say.
type result struct {
	score, threshold float64
	symbols          []string
	field            string // the value of X-Spambloom
}

func (r *result) isSpam() bool { return r.score >= r.threshold }

// result returns the score and the symbols of a decision.
func (o *Options) result(d policy.Decision, field string) *result {
	r := &result{threshold: o.Threshold, field: field}
	switch d.Verdict {
	case policy.Clean:
		return r
	case policy.Spam:
		r.score = o.SpamScore
	case policy.Bulk:
		r.score = o.BulkScore
	}
	r.add(string(d.Verdict))
	if d.Verdict != policy.Spam {
		return r
	}
	for _, s := range d.Signatures {
		r.add("KIND_" + s.Kind.String())
	}
	if d.Class.Named() {
		r.add("CLASS_" + d.Class.String())
	}
	return r
}

// add adds a symbol once.
func (r *result) add(name string) {
	name = "SPAMBLOOM_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	for _, other := range r.symbols {
		if other == name {
			return
		}
	}
	r.symbols = append(r.symbols, name)
}

// check judges a message and answers.
func (c *conn) check(q request, m *milter.Mail) error {
	d, field := m.Judge()
	if d.Verdict == policy.Failed && d.Action == policy.Tempfail {
		return &Error{CodeTempFail, "message not judged: " + d.Reason}
	}
	r := c.options.result(d, field)
	c.server.metrics.messages.WithLabelValues(string(d.Verdict)).Inc()
	switch q.command {
	case "SYMBOLS":
		return c.send(r.answer(q, []byte(strings.Join(r.symbols, ","))))
	case "REPORT":
		return c.send(r.answer(q, r.report()))
	case "REPORT_IFSPAM":
		if r.isSpam() {
			return c.send(r.answer(q, r.report()))
		}
	case "HEADERS":
		return c.headers(q, m, r)
	case "PROCESS":
		return c.process(q, m, r)
	}
	return c.send(r.answer(q, nil))
}

// process returns the message with the headers of the result.
func (c *conn) process(q request, m *milter.Mail, r *result) error {
	if !m.IsWhole() {
		return &Error{CodeTempFail, "the message is not held, use it as it is"}
	}
	header := r.tag(m.Head())
	out := r.head(q, int64(len(header))+m.BodySize())
	if err := c.send(append(out, header...)); err != nil {
		return err
	}
	c.nc.SetWriteDeadline(time.Now().Add(c.options.WriteTimeout)) // the write returns the error
	return m.WriteBody(c.nc.Conn)
}

func (r *result) answer(q request, content []byte) []byte {
	return append(r.head(q, int64(len(content))), content...)
}

// head returns the head of a success. Clients before SPAMC/1.3 read one header only.
func (r *result) head(q request, length int64) []byte {
	out := []byte("SPAMD/1.1 0 EX_OK\r\n")
	if q.command == "PROCESS" || q.version >= multiHeader && q.command != "CHECK" {
		out = fmt.Appendf(out, "Content-length: %d\r\n", length)
	}
	if q.command != "PROCESS" || q.version >= multiHeader {
		word := "False"
		if r.isSpam() {
			word = "True"
		}
		out = fmt.Appendf(out, "Spam: %s ; %.1f / %.1f\r\n", word, r.score, r.threshold)
	}
	return append(out, "\r\n"...)
}

// report returns the result as text.
func (r *result) report() []byte {
	return fmt.Appendf(nil, "spambloom: %s\nscore %.1f, threshold %.1f, tests %s\n", r.field, r.score, r.threshold, r.tests())
}

func (r *result) tests() string {
	if len(r.symbols) == 0 {
		return "none"
	}
	return strings.Join(r.symbols, ",")
}

// The fields that are added, as SpamAssassin names them. Those that a message arrived with
// are removed: any sender can write one.
const (
	fieldVerdict = "X-Spambloom"
	fieldFlag    = "X-Spam-Flag"
	fieldLevel   = "X-Spam-Level"
	fieldStatus  = "X-Spam-Status"
)

// maxLevel bounds the stars of X-Spam-Level.
const maxLevel = 50

// tag returns a message's header with the fields of the result at its top.
func (r *result) tag(header []byte) []byte {
	end := "\n"
	if first, _, ok := bytes.Cut(header, []byte("\n")); ok && bytes.HasSuffix(first, []byte("\r")) {
		end = "\r\n"
	}
	var b bytes.Buffer
	fields := header
	if bytes.HasPrefix(header, []byte("From ")) { // of an mbox
		fields = header[bytes.IndexByte(header, '\n')+1:]
		b.Write(header[:len(header)-len(fields)])
	}
	add := func(name, value string) { b.WriteString(name + ": " + value + end) }
	word := "No"
	if r.isSpam() {
		word = "Yes"
		add(fieldFlag, "YES")
		add(fieldLevel, strings.Repeat("*", int(min(math.Floor(r.score), maxLevel))))
	}
	add(fieldStatus, fmt.Sprintf("%s, score=%.1f required=%.1f tests=%s autolearn=no", word, r.score, r.threshold, r.tests()))
	add(fieldVerdict, r.field)
	rest := withoutOurs(fields)
	b.Write(rest)
	if !bytes.HasSuffix(rest, []byte("\n\n")) && !bytes.HasSuffix(rest, []byte("\n\r\n")) && string(rest) != "\n" && string(rest) != "\r\n" {
		b.WriteString(end) // the body began without an empty line
	}
	return b.Bytes()
}

// withoutOurs returns a header without the fields that tag adds. A fold at its beginning belongs
// to no field and is removed: it would become a part of the last one that tag adds.
func withoutOurs(header []byte) (kept []byte) {
	isOurs := true
	for line := range bytes.Lines(header) {
		if line[0] != ' ' && line[0] != '\t' { // not a fold
			name, _, _ := bytes.Cut(line, []byte(":"))
			isOurs = false
			for _, ours := range []string{fieldVerdict, fieldFlag, fieldLevel, fieldStatus} {
				isOurs = isOurs || strings.EqualFold(strings.TrimRight(string(name), " \t"), ours)
			}
		}
		if !isOurs {
			kept = append(kept, hideStatus(line)...)
		}
	}
	return kept
}

// hideStatus returns text in which rspamd does not find the status. It searches all lines that it
// reads, also within other fields, and takes the last one. So the name gets a space before its colon.
func hideStatus(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(fieldStatus+":"), []byte(fieldStatus+" :"))
}
