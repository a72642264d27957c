package milter

import (
	"fmt"
	"strings"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/milter/policy"
)

// headerVerdict is the header this program adds, beside that of Options.SpamFlag. Copies that
// arrive with a message are forged, or come from another site; both are removed.
const headerVerdict = "X-Spambloom"

// forged counts the headers of ours that a message arrived with. A milter addresses a
// header by its name and its number within that name.
type forged struct{ verdict, flag int }

// maxForged is the number of headers of one name that are removed. Postfix searches for
// each from the beginning of the message. It takes ten seconds for 5,000 of them, a message
// of 60 kB; with 20,000 more it gives up after more than a minute.
const maxForged = 100

// exceedsLimit reports whether some of them are not removed.
func (f forged) exceedsLimit() bool { return max(f.verdict, f.flag) > maxForged }

// note counts a header by its name; flag is Options.SpamFlag.
func (f *forged) note(name, flag string) {
	switch name = strings.TrimSpace(name); {
	case strings.EqualFold(name, headerVerdict):
		f.verdict++
	case flag != "" && strings.EqualFold(name, flag):
		f.flag++
	}
}

// remove deletes from the last to the first, because a deletion renumbers those after it.
// If there are more than maxForged, the upper ones are removed.
func (f forged) remove(m *gomilter.Modifier, flag string) error {
	for n := min(f.verdict, maxForged); n > 0; n-- {
		if err := m.ChangeHeader(n, headerVerdict, ""); err != nil {
			return err
		}
	}
	for n := min(f.flag, maxForged); n > 0; n-- {
		if err := m.ChangeHeader(n, flag, ""); err != nil {
			return err
		}
	}
	return nil
}

// modify requests the changes to the message from the MTA. Mail that is not delivered needs
// none. policy.Accept removes forged headers and adds none, unless some remain: then ours is
// inserted above them.
func modify(m *gomilter.Modifier, msg *message, d policy.Decision) error {
	switch d.Action {
	case policy.Reject, policy.Tempfail, policy.Discard:
		return nil
	}
	if err := msg.forged.remove(m, msg.options.SpamFlag); err != nil || d.Action == policy.Accept && !msg.forged.exceedsLimit() {
		return err
	}
	if d.Action == policy.Quarantine {
		if err := m.Quarantine(shortName(d)); err != nil {
			return err
		}
	}
	if flag := msg.options.SpamFlag; flag != "" && d.Verdict == policy.Spam {
		if err := m.InsertHeader(0, flag, "YES"); err != nil {
			return err
		}
	}
	// Index 0 is above the MTA's own Received field.
	return m.InsertHeader(0, headerVerdict, verdictHeader(d, msg.options.Site))
}

// response returns the final answer for the message.
func response(d policy.Decision) gomilter.Response {
	switch d.Action {
	case policy.Reject:
		return reply("550 5.7.1 Message refused: " + shortName(d))
	case policy.Tempfail:
		return reply("451 4.7.1 Try again later: " + shortName(d))
	case policy.Discard:
		return sticky{gomilter.RespDiscard}
	}
	return gomilter.RespContinue
}

// reply returns an SMTP reply of our own. MTAs read it as a format: Postfix drops a single
// %, and Sendmail replaces the whole text.
func reply(text string) gomilter.Response {
	return sticky{gomilter.NewResponseStr(byte(gomilter.ActReplyCode), strings.ReplaceAll(text, "%", "%%"))}
}

// verdictHeader returns the value of X-Spambloom.
func verdictHeader(d policy.Decision, site string) string {
	site = printable(site)
	if d.Reason != "" {
		return fmt.Sprintf("%s; reason=%s; site=%s", d.Verdict, d.Reason, site)
	}
	var b strings.Builder
	b.WriteString(string(d.Verdict))
	if len(d.Signatures) > 0 {
		fmt.Fprintf(&b, "; kind=%s", d.Signatures[0].Kind)
	}
	if d.By != "" {
		fmt.Fprintf(&b, "; by=%s", d.By)
	}
	if d.Need > 0 {
		fmt.Fprintf(&b, "; found=%d; need=%d", d.Found, d.Need)
	}
	if d.Votes > 0 {
		fmt.Fprintf(&b, "; votes=%d", d.Votes)
	}
	if d.Spared != "" {
		fmt.Fprintf(&b, "; spared=%s", printable(d.Spared))
	}
	if class := className(d); class != "" {
		fmt.Fprintf(&b, "; class=%s", class)
	}
	fmt.Fprintf(&b, "; count=%d; sites=%d; site=%s", d.Count, d.Sites, site)
	if len(d.Signatures) > 0 {
		fmt.Fprintf(&b, "; id=%s", d.Signatures[0].ID())
	}
	return b.String()
}

// className returns "" if no class is known.
func className(d policy.Decision) string {
	if !d.Class.Named() {
		return ""
	}
	return d.Class.String()
}

// shortName returns the short form for quarantine reasons and replies.
func shortName(d policy.Decision) string {
	switch {
	case d.Verdict == policy.Failed:
		return "not judged"
	case d.Reason == reasonGreylist:
		return reasonGreylist // the sender need not learn the verdict
	case d.Reason != "":
		return string(d.Verdict) + " " + d.Reason
	case len(d.Signatures) > 0:
		return string(d.Verdict) + " " + d.Signatures[0].ID()
	}
	return string(d.Verdict)
}

// printable restricts a value to characters allowed in one parameter of one header line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f || r == ';' {
			return '_'
		}
		return r
	}, s)
}
