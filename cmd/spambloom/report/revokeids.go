package report

import (
	"context"
	"errors"

	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// revokeIDs revokes messages that are named by IDs.
func revokeIDs(ctx context.Context, c *verb.CLI, args []string, ids []api.LookupRequest, flags reportFlags) error {
	if err := flags.check(); err != nil {
		return verb.UsageError(err)
	}
	if flags.dryRun || flags.attached || flags.skip > 0 {
		return verb.UsageError(errors.New("--dry-run, --attached and --skip are for FILEs, not for IDs"))
	}
	if err := batch.ConfirmedIDs(c, args, flags.yes, questions["revoke"]); err != nil {
		return err
	}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	count, finish := batch.Counting(c, len(ids))
	defer finish()
	for i, q := range ids {
		q.Reporter = flags.reporter
		receipt, err := client.Post(ctx, daemon, v1.RevokeID, q)
		switch {
		case err != nil && len(ids) > 1:
			return &batch.StoppedError{Err: batch.IDFault(args[i], q, err), Name: batch.NameOf(q), Count: i, Done: "revoked"}
		case err != nil:
			return batch.IDFault(args[i], q, err)
		}
		count(outcomeOf(parcel{receipt: receipt}))
		if err := showReceipt(c, batch.NameOf(q), parcel{receipt: receipt}); err != nil {
			return err
		}
	}
	return nil
}
