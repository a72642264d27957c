package verdict

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// looked is what `explain --json` prints for an ID.
type looked struct {
	ID string `json:"of"` // the argument
	api.Lookup
}

// explainIDs prints what is known of messages without having them.
func explainIDs(ctx context.Context, c *verb.CLI, args []string, ids []api.LookupRequest, asJSON bool) error {
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	for i, q := range ids {
		known, err := client.Post(ctx, daemon, v1.Lookup, q)
		if err == nil && known.Explanation == nil && q.QueueID != "" {
			err = fmt.Errorf("%w since %s", batch.ErrUnknownQueueID, format.Instant(known.Since))
		}
		if err != nil {
			return batch.IDFault(args[i], q, err)
		}
		if err := c.PrintEither(asJSON, looked{args[i], known}, lookupText(batch.NameOf(q), known)); err != nil {
			return err
		}
	}
	return nil
}

// lookupText formats what is known of a message for a terminal.
func lookupText(name verb.MessageName, known api.Lookup) string {
	var b strings.Builder
	if known.Explanation == nil {
		fmt.Fprintf(&b, "%s: not known\n", name)
	} else {
		b.WriteString(explanationText(name, explanation{Explanation: *known.Explanation}))
	}
	b.WriteString(format.Columns(func(table io.Writer) {
		for _, r := range known.Reports {
			action := "reported"
			if r.Action == "revoke" {
				action = "revoked"
			}
			fmt.Fprintf(table, "  %s\t%s\tby %s\t%s\t%s\n", action, format.Instant(r.At), cmp.Or(r.Reporter, format.HiddenReporter), r.Class, r.State)
		}
		for _, j := range known.Judged {
			verdict := j.Verdict
			if j.Spared != "" {
				verdict += ", spared: " + j.Spared
			}
			fmt.Fprintf(table, "  judged\t%s\tqueue id %s\t%s\n", format.Instant(j.At), cmp.Or(j.QueueID, "-"), verdict)
		}
	}))
	for _, what := range known.Unknown {
		fmt.Fprintf(&b, "  not known: %s\n", what)
	}
	return b.String()
}
