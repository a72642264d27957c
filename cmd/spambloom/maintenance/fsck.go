package maintenance

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// FsckCommand returns the verb fsck.
func FsckCommand(c *verb.CLI) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "check the files of the daemon's state folder",
		Long: `fsck checks the files of the daemon's state folder while the daemon runs.

The daemon reads every file: filters, journal, masks, the never-list, and the ledger of
reports. fsck prints one line per damaged file, and changes nothing. Only root and the
daemon's user may run it.

The daemon makes the same checks at its start. If it refuses to start, spambloomd
--repair restores the files.

Exit codes:
  0   nothing is damaged` + verb.UsageCode + `
  69  no daemon answers
  74  files are damaged, the results cannot be written, or the daemon's disk failed
  75  the daemon cannot do it now; try again later
  76  the daemon has another version, or another program answered
  77  no permission`,
		Example: `  spambloom fsck`,
		Args:    verb.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fsck(cmd.Context(), c, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func fsck(ctx context.Context, c *verb.CLI, asJSON bool) error {
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	checked, err := daemon.Fsck(ctx)
	if err != nil {
		return err
	}
	text := "nothing is damaged\n"
	if len(checked.Faults) > 0 {
		text = strings.Join(checked.Faults, "\n") + "\n"
	}
	err = c.PrintEither(asJSON, checked, text)
	if err == nil && len(checked.Faults) > 0 {
		err = &verb.Fault{Code: verb.IOErr, Err: fmt.Errorf("the state folder is damaged: %s", format.Plural(len(checked.Faults), "fault")),
			Hint: "the daemon continues from memory; stop it, then restore the state folder from a backup, or move damaged files away as spambloomd suggests at its start"}
	}
	return err
}
