package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// errDamagedState is what fsck ends with where it has found faults.
var errDamagedState = errors.New("the state folder is damaged")

func (c *cli) fsckCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "check the files of the daemon's state folder",
		Long: `fsck has the daemon read every file of its state folder: filters, journal, masks, the
never-list, and the ledger of reports. It prints what is damaged, a line each. Mail and
reports go on meanwhile; it changes nothing. Only root and the daemon's user may ask.

It ends with 74 where something is damaged. A daemon that is not running checks the same
at its start; spambloomd --repair restores what it refuses.

Exit codes:
  0   nothing is damaged` + statusCodes,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.fsck(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) fsck(ctx context.Context, asJSON bool) error {
	daemon, err := c.dial()
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
	err = c.printEither(asJSON, checked, text)
	if err == nil && len(checked.Faults) > 0 {
		err = fmt.Errorf("%w: %s", errDamagedState, several(len(checked.Faults), "fault"))
	}
	return err
}
