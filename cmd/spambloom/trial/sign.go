package trial

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// signed is what `sign --json` prints for a message.
type signed struct {
	File       verb.MessageName `json:"file"`
	Signatures []api.Signature  `json:"signatures"`
	Sketches   []api.Sketch     `json:"sketches,omitempty"`
	Domains    []string         `json:"domains,omitempty"`
	Carried    int              `json:"carried,omitempty"`
	NoHeader   bool             `json:"no_header,omitempty"`
	Limits     []string         `json:"limits,omitempty"`
	Text       string           `json:"text,omitempty"`
	Error      string           `json:"error,omitempty"`

	sketchLines []string // the sketches, for a terminal
}

// SignCommand returns the verb sign.
func SignCommand(c *verb.CLI) *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "sign [FILE...]",
		Short: "print the signatures of messages; needs no daemon",
		Long: `sign prints the signatures of each message. It needs no daemon.

A line has the file, the kind and the digest, strongest kind first. An asterisk marks
the signatures under which the message is counted. The kinds:
  body         all parts, exactly
  text         the text that a reader sees, normalised
  attachment   a file, exactly
  content      the content of an archive or PDF, however it is packed
After these, one line each: the sketches of the text and of images, which recognise
near-duplicates; the domains that the message links to; and the limits that were
reached (signature/FORMAT.md lists them). A carried domain, in an attached message or a
later part, is looked up, but not reported.

With --json, one object per line: file, signatures (kind, digest, counting), sketches
(kind, anchors, keys, ask_only), domains, carried, no_header, limits, text (with -v),
error. A request to the daemon has the same signatures, sketches, domains, carried and
no_header (reporting/API.md).

Exit codes:
  0   all messages are signed` + verb.UsageCode + verb.LittleCode + verb.InputCode + verb.OutputCode + verb.Continues,
		Example: `  spambloom sign -v message.eml`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return sign(cmd.Context(), c, names, asJSON, verbose)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line: file, signatures, sketches, domains, carried, no_header, limits, text, error")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print the normalised text, from which the text signature is computed")
	return cmd
}

func sign(ctx context.Context, c *verb.CLI, names []string, asJSON, verbose bool) error {
	compute := func(_ context.Context, m signature.Message) (signed, error) {
		set := signature.Compute(m)
		request := api.NewRequest(set)
		s := signed{Signatures: request.Signatures, Sketches: request.Sketches, Domains: request.Domains, Carried: request.Carried, NoHeader: request.NoHeader,
			Limits: set.Limits.Names(), sketchLines: sketchLines(set.Sketches)}
		if verbose {
			s.Text = signature.Text(m)
		}
		if len(set.Signatures) == 0 {
			return s, bloomdb.ErrNothing
		}
		return s, nil
	}
	return batch.Process(ctx, c, "signed", batch.Inputs(c, names), compute, func(r batch.Result[signed]) error {
		s := r.Answer
		s.File, s.Error = r.Name, verb.ErrorText(r.Err)
		return c.PrintEither(asJSON, s, s.lines())
	})
}

// lines formats the signatures for a terminal.
func (s signed) lines() string {
	var b strings.Builder
	for _, sig := range s.Signatures {
		mark := ""
		if sig.Counting {
			mark = " *"
		}
		fmt.Fprintf(&b, "%s: %s %s%s\n", s.File, sig.Kind, sig.Digest, mark)
	}
	for _, line := range s.sketchLines {
		fmt.Fprintf(&b, "%s: %s\n", s.File, line)
	}
	for i, domain := range s.Domains {
		kind := "domain"
		if i >= len(s.Domains)-s.Carried {
			kind = "carried domain"
		}
		fmt.Fprintf(&b, "%s: %s %s\n", s.File, kind, domain)
	}
	for _, limit := range s.Limits {
		fmt.Fprintf(&b, "%s: limit %s\n", s.File, limit)
	}
	if s.Text != "" {
		fmt.Fprintf(&b, "%s: text is %s\n", s.File, s.Text)
	}
	return b.String()
}

// sketchLines describes the size of each sketch.
func sketchLines(sketches []signature.Sketch) []string {
	var lines []string
	for _, s := range sketches {
		line := fmt.Sprintf("%s of %d keys, %d anchors", s.Kind, len(s.Keys), len(s.Anchors))
		if s.AskOnly {
			line += "; too small to be reported"
		}
		lines = append(lines, line)
	}
	return lines
}
