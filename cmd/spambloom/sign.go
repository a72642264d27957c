package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting"
	"github.com/spambloom/spambloom/signature"
)

// signed is what `sign --json` prints for a message.
type signed struct {
	File       string                `json:"file"`
	Signatures []reporting.Signature `json:"signatures"`
	Text       string                `json:"text,omitempty"`
	Error      string                `json:"error,omitempty"`
}

func (c *cli) signCommand() *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "sign [FILE...]",
		Short: "print the signatures of messages; asks nobody",
		Long: `sign prints the signatures of each message, strongest kind first: file, kind and
digest, and an asterisk on those under which the message is counted. It works
without a daemon.

Exit codes:
  0   all messages are signed` + signCodes,
		Example: `  spambloom sign -v message.eml`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return c.sign(cmd.Context(), names, asJSON, verbose)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line: file, signatures, text, error")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print the normalised text too, of which the text signature is made")
	return cmd
}

func (c *cli) sign(ctx context.Context, names []string, asJSON, verbose bool) error {
	compute := func(_ context.Context, m signature.Message) (signed, error) {
		set := signature.Compute(m)
		s := signed{Signatures: reporting.NewRequest(set).Signatures}
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
		if asJSON {
			return c.printJSON(s)
		}
		return c.print(s.lines())
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
	if s.Text != "" {
		fmt.Fprintf(&b, "%s: text is %s\n", s.File, s.Text)
	}
	return b.String()
}
