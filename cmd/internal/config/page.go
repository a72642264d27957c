package config

import (
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

// Page returns the man page spambloom.toml(5), contrib/man/spambloom.toml.5: the same keys
// and documentation as the example file, without a date.
func Page() string {
	var b strings.Builder
	b.WriteString(`.TH "SPAMBLOOM.TOML" "5" "" "spambloom" ""
.nh
.ad l
.SH NAME
spambloom.toml \- configuration of spambloomd
.SH SYNOPSIS
\fB/etc/spambloom/spambloom.toml\fP
.SH DESCRIPTION
spambloomd reads this file, or the one named by \fB\-c\fP, in the format TOML. Every key
has a default, so the file contains only what differs. Unknown keys are errors.
.PP
Durations are written like "90m" or "24h", sizes like "10MiB". A running daemon applies keys
marked [HUP] on SIGHUP; the others need a restart.
`)
	for _, s := range sections {
		fmt.Fprintf(&b, ".SH \"%s\"\n%s\n", strings.TrimPrefix(heading(s.name), "#"), roff(s.doc))
		for _, k := range keys {
			if k.section == s.name {
				b.WriteString(k.entry())
			}
		}
	}
	b.WriteString(`.SH EXAMPLE
.EX
[milter]
listen = ["unix:/run/spambloom/milter.sock"]

[actions]
spam = "reject"
.EE
.PP
The package installs a file with every key, its default and its documentation.
.SH SEE ALSO
\fBspambloomd(8)\fP,
\fBspambloom(1)\fP
`)
	return b.String()
}

// entry returns a key with its default value as an entry of a list.
func (k key) entry() string {
	shown := k.def
	if k.example != nil {
		shown = k.example
	}
	doc := k.doc
	if k.live {
		doc += " [HUP]"
	}
	return fmt.Sprintf(".TP\n\\fB%s\\fP = %s\n%s\n", roff(k.name), roff(value.Literal(shown)), roff(doc))
}

// roffText escapes what troff would replace, so that values can be copied.
var roffText = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`", "^", `\(ha`, "~", `\(ti`, "\n.", "\n\\&.", "\n'", "\n\\(aq")

func roff(text string) string { return roffText.Replace(text) }
