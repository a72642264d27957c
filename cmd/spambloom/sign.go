package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// signed is what `sign --json` prints for a message.
type signed struct {
	File       string          `json:"file"`
	Signatures []api.Signature `json:"signatures"`
	Sketches   []api.Sketch    `json:"sketches,omitempty"`
	Domains    []string        `json:"domains,omitempty"`
	Carried    int             `json:"carried,omitempty"`
	Limits     []string        `json:"limits,omitempty"`
	Text       string          `json:"text,omitempty"`
	Error      string          `json:"error,omitempty"`

	likenesses []string // the sketches, to be read
}

func (c *cli) signCommand() *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "sign [FILE...]",
		Short: "print the signatures of messages; asks nobody",
		Long: `sign prints the signatures of each message, strongest kind first: file, kind and
digest, and an asterisk on those under which the message is counted. It works
without a daemon. The kinds:
  body         all parts, exactly
  text         the text that a reader sees, normalised
  attachment   a file, exactly
  content      what an archive or PDF holds, however it is packed
Then follow, a line each, what near-duplicates are told by (sketch of the text, image),
the domains that the message links to (carried ones, in attached messages and later
parts, are asked, but not reported), and the limits beyond which something of it
does not count (signature/FORMAT.md has them).

With --json, one object a line: file, signatures (kind, digest, counting), sketches
(kind, anchors, keys, ask_only), domains, carried, limits, text (with -v), error. The first of
these are what a request to the daemon has (reporting/API.md).

Exit codes:
  0   all messages are signed` + signCodes,
		Example: `  spambloom sign -v message.eml`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return c.sign(cmd.Context(), names, asJSON, verbose)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line: file, signatures, sketches, domains, carried, limits, text, error")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print the normalised text too, of which the text signature is made")
	return cmd
}

func (c *cli) sign(ctx context.Context, names []string, asJSON, verbose bool) error {
	compute := func(_ context.Context, m signature.Message) (signed, error) {
		set := signature.Compute(m)
		request := api.NewRequest(set)
		s := signed{Signatures: request.Signatures, Sketches: request.Sketches, Domains: request.Domains, Carried: request.Carried,
			Limits: set.Limits.Names(), likenesses: sketchLines(set.Sketches)}
		if verbose {
			s.Text = signature.Text(m)
		}
		if len(set.Signatures) == 0 {
			return s, bloomdb.ErrNothing
		}
		return s, nil
	}
	return process(ctx, c, "signed", c.inputs(names), compute, func(r result[signed]) error {
		s := r.answer
		s.File, s.Error = r.name, errorText(r.err)
		return c.printEither(asJSON, s, s.lines())
	})
}

// lines is the readable form.
func (s signed) lines() string {
	var b strings.Builder
	for _, sig := range s.Signatures {
		mark := ""
		if sig.Counting {
			mark = " *"
		}
		fmt.Fprintf(&b, "%s: %s %s%s\n", s.File, sig.Kind, sig.Digest, mark)
	}
	for _, line := range s.likenesses {
		fmt.Fprintf(&b, "%s: %s\n", s.File, line)
	}
	for i, domain := range s.Domains {
		what := "domain"
		if i >= len(s.Domains)-s.Carried {
			what = "carried domain"
		}
		fmt.Fprintf(&b, "%s: %s %s\n", s.File, what, domain)
	}
	for _, limit := range s.Limits {
		fmt.Fprintf(&b, "%s: limit %s\n", s.File, limit)
	}
	if s.Text != "" {
		fmt.Fprintf(&b, "%s: text is %s\n", s.File, s.Text)
	}
	return b.String()
}

// sketchLines says of each sketch how much it has.
func sketchLines(sketches []signature.Sketch) []string {
	var lines []string
	for _, s := range sketches {
		line := fmt.Sprintf("%s of %d keys, %d anchors", s.Kind, len(s.Keys), len(s.Anchors))
		if s.AskOnly {
			line += "; too little to be reported"
		}
		lines = append(lines, line)
	}
	return lines
}
