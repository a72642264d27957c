// Package header adds this program's headers to a message, and removes forged ones. It owns
// their names and values, and the text of a decision in replies.
package header

import (
	"fmt"
	"strings"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// Verdict is the header this program adds, beside that of Own.Flag. Copies that
// arrive with a message are forged, or come from another site; both are removed.
const Verdict = "X-Spambloom"

// Forged counts the headers of ours that a message arrived with. A milter addresses a
// header by its name and its number within that name.
type Forged struct{ verdict, flag int }

// MaxForged is the number of headers of one name that are removed. Postfix searches for
// each from the beginning of the message. It takes ten seconds for 5,000 of them, a message
// of 60 kB; with 20,000 more it gives up after more than a minute.
const MaxForged = 100

// ExceedsLimit reports whether some of them are not removed.
func (f Forged) ExceedsLimit() bool { return max(f.verdict, f.flag) > MaxForged }

// Note counts a header by its name; flag is Own.Flag.
func (f *Forged) Note(name, flag string) {
	switch name = strings.TrimSpace(name); {
	case strings.EqualFold(name, Verdict):
		f.verdict++
	case flag != "" && strings.EqualFold(name, flag):
		f.flag++
	}
}

// remove deletes from the last to the first, because a deletion renumbers those after it.
// If there are more than MaxForged, the upper ones are removed.
func (f Forged) remove(m *gomilter.Modifier, flag string) error {
	for n := min(f.verdict, MaxForged); n > 0; n-- {
		if err := m.ChangeHeader(n, Verdict, ""); err != nil {
			return err
		}
	}
	for n := min(f.flag, MaxForged); n > 0; n-- {
		if err := m.ChangeHeader(n, flag, ""); err != nil {
			return err
		}
	}
	return nil
}

// Count returns how many of them there are.
func (f Forged) Count() int { return f.verdict + f.flag }

// Own are the headers of a site.
type Own struct {
	Flag string // the name of the header that spam has beside Verdict; "": there is none
	Site string // its name
}

// Modify requests the changes to a message from the MTA. Mail that is not delivered needs
// none. policy.Accept removes forged headers and adds none, unless some remain: then ours is
// inserted above them.
func (f Forged) Modify(m *gomilter.Modifier, own Own, d policy.Decision) error {
	switch d.Action {
	case policy.Reject, policy.Tempfail, policy.Discard:
		return nil
	}
	if err := f.remove(m, own.Flag); err != nil || d.Action == policy.Accept && !f.ExceedsLimit() {
		return err
	}
	if d.Action == policy.Quarantine {
		if err := m.Quarantine(ShortName(d)); err != nil {
			return err
		}
	}
	if own.Flag != "" && d.Verdict == policy.Spam {
		if err := m.InsertHeader(0, own.Flag, "YES"); err != nil {
			return err
		}
	}
	// Index 0 is above the MTA's own Received field.
	return m.InsertHeader(0, Verdict, Value(d, own.Site))
}

// Value returns the value of X-Spambloom.
func Value(d policy.Decision, site string) string {
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
	if d.SparedBy != "" {
		fmt.Fprintf(&b, "; spared-by=%s", d.SparedBy)
	}
	if class := ClassName(d); class != "" {
		fmt.Fprintf(&b, "; class=%s", class)
	}
	fmt.Fprintf(&b, "; count=%d; sites=%d; site=%s", d.Count, d.Sites, site)
	if len(d.Signatures) > 0 {
		fmt.Fprintf(&b, "; id=%s", d.Signatures[0].ID())
	}
	return b.String()
}

// ClassName returns "" if no class is known.
func ClassName(d policy.Decision) string {
	if !d.Class.Named() {
		return ""
	}
	return d.Class.String()
}

// ShortName returns the short form for quarantine reasons and replies.
func ShortName(d policy.Decision) string {
	switch {
	case d.Verdict == policy.Failed:
		return "not judged"
	case d.Reason == policy.ReasonGreylist:
		return policy.ReasonGreylist // the sender need not learn the verdict
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

// Strip returns the body after a copy of its header, if it begins with one: with a header that
// has the same fields, and further ones if header is only a part.
func Strip(body []byte, header []signature.Field, isPart bool) []byte {
	if rest, ok := signature.Behind(body, header, isPart); ok && len(header) > 0 {
		return rest
	}
	return body
}
