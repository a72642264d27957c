// Package verdict is the verbs check and explain: the daemon's verdict on messages, and its
// evidence. It owns their JSON and the sentences about evidence. It changes nothing, and judges
// nothing itself, except that explain compares two messages without a daemon.
package verdict

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// checked is what `check --json` prints for a message. The class is set if the
// message is spam and the daemon keeps the classes of reports.
type checked struct {
	File    verb.MessageName `json:"file"`
	Verdict string           `json:"verdict,omitempty"`
	Class   bloomdb.Class    `json:"class,omitzero"`
	Kinds   []string         `json:"kinds,omitempty"`
	Count   uint64           `json:"count"`
	Sites   int              `json:"sites"`
	Domain  string           `json:"domain,omitempty"` // the link domain that listed it
	ID      string           `json:"id,omitempty"`
	Never   bool             `json:"never,omitempty"`

	Overlap *api.Overlap `json:"overlap,omitempty"` // set if a sketch lists it
	Error   string       `json:"error,omitempty"`
}

func newChecked(name verb.MessageName, a api.Answer, err error) checked {
	return checked{File: name, Verdict: a.Verdict, Class: a.Class, Kinds: a.Kinds, Domain: a.Domain, Count: a.Count, Sites: a.Sites, ID: a.ID, Never: a.Never, Overlap: a.Overlap, Error: verb.ErrorText(err)}
}

// CheckCommand returns the verb check.
func CheckCommand(c *verb.CLI) *cobra.Command {
	var asJSON, spamc bool
	cmd := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "ask the daemon for the verdict on messages",
		Long: `check asks the daemon for the verdict on each message and prints it, one line
per message. It does not count the messages as seen.

The verdict is spam (reported, and not revoked), bulk (seen many times; not spam by
itself), allowed (on the never-list), clean, or skipped (too little content to sign).

Exit codes:
  0   at least one message is spam
  1   none is spam
--spamc swaps exit codes 0 and 1, like spamc -c. If any message failed, the exit
code is that of the failure:` + verb.QuestionCodes,
		Example: `  spambloom check message.eml
  formail -s spambloom check < mbox
  :0 W                             # procmail
  * ? spambloom check
  Junk/`,
		RunE: func(cmd *cobra.Command, names []string) error {
			spam, err := check(cmd.Context(), c, names, asJSON)
			if err != nil {
				return err
			}
			if spam == spamc {
				return verb.Exit(verb.Declined)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line: file, verdict, class, kinds, count, sites, domain, id, never, overlap, error")
	cmd.Flags().BoolVar(&spamc, "spamc", false, "exit with 1 if a message is spam, else with 0")
	return cmd
}

// check prints the verdicts and reports whether one of them is spam.
func check(ctx context.Context, c *verb.CLI, names []string, asJSON bool) (spam bool, err error) {
	daemon, err := c.Dial()
	if err != nil {
		return false, err
	}
	defer daemon.Close()
	ask := func(ctx context.Context, m signature.Message) (api.Answer, error) {
		return client.Post(ctx, daemon, v1.Check, api.NewRequest(signature.Compute(m)))
	}
	err = batch.Process(ctx, c, "checked", batch.Inputs(c, names), ask, func(r batch.Result[api.Answer]) error {
		spam = spam || r.Answer.Verdict == "spam"
		if asJSON {
			return c.PrintJSON(newChecked(r.Name, r.Answer, r.Err))
		}
		if r.Err != nil {
			return nil
		}
		verdict := r.Name.String() + ": "
		line := strings.TrimPrefix(verdictLine(r.Name, r.Answer), verdict+r.Answer.Verdict)
		return c.Print(verdict + verb.Paint(c.Out, verdictColours[r.Answer.Verdict], r.Answer.Verdict) + line)
	})
	return spam, err
}

// verdictLine formats a verdict like the header that the milter adds.
func verdictLine(name verb.MessageName, a api.Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", name, a.Verdict)
	if a.Never && a.Verdict != "spam" {
		b.WriteString("; reason=never")
	}
	if len(a.Kinds) > 0 {
		fmt.Fprintf(&b, "; kind=%s", strings.Join(a.Kinds, ","))
	}
	if a.Overlap != nil {
		if a.Overlap.By != "" {
			fmt.Fprintf(&b, "; by=%s", a.Overlap.By)
		}
		fmt.Fprintf(&b, "; found=%d; need=%d", a.Overlap.Found, a.Overlap.Need)
	}
	if a.Votes > 0 {
		fmt.Fprintf(&b, "; votes=%d", a.Votes)
	}
	if a.Domain != "" {
		fmt.Fprintf(&b, "; domain=%s", a.Domain)
	}
	if a.Class.Named() {
		fmt.Fprintf(&b, "; class=%s", a.Class)
	}
	if a.ID == "" {
		b.WriteString("; too little content to sign")
	} else {
		fmt.Fprintf(&b, "; count=%d; sites=%d; id=%s", a.Count, a.Sites, a.ID)
	}
	b.WriteByte('\n')
	return b.String()
}

// verdictColours are the colours of verdicts.
var verdictColours = map[string]string{"spam": verb.Red, "bulk": verb.Yellow, "clean": verb.Green, "allowed": verb.Green, "skipped": verb.Cyan}
