// Package reporters is the verbs by which an administrator looks after reporters and their
// reports: reports, reporters, settle, undo and token.
package reporters

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

const reportersHelp = `reporters shows the weights of this site's reporters, all or those named, or sets them.

A message is listed when the weights of its reporters reach the quorum ([reports]
quorum).

WEIGHT     the weight of a report made now; "set" if --weight fixed it. A spam trap
           has the weight of the quorum, unless it is set
CONFIRMED  reports that others confirmed; older ones count less
REFUTED    reports that others took back; older ones count less
REPORTS    all reports ever made; REVOKED: all revocations

--weight 0 ignores later reports and revocations by NAME. It also withdraws all
revocations by NAME at once: a message that only NAME revoked, and that others report, is
listed again, on all sites. --no-weight does not restore them: revoke such a message
again. "reports --reporter NAME" lists them before. Earlier reports by NAME still count;
undo withdraws these.

Exit codes:
  0   the daemon has answered, or the weight is set` + verb.UsageCode + `
  65  the reporter is unknown; --weight accepts future reporters, too` + verb.DaemonCodes

// reportersFlags are the flags of reporters.
type reportersFlags struct {
	weight           float64
	set              bool // --weight is given
	noWeight, asJSON bool
}

func (f *reportersFlags) check(names []string) error {
	switch {
	case f.set && f.noWeight:
		return errors.New("--weight and --no-weight: only one of them")
	case (f.set || f.noWeight) && len(names) == 0:
		return errors.New("--weight and --no-weight require a NAME")
	}
	if err := (api.WeightRequest{Weight: &f.weight}).Check(); err != nil {
		return fmt.Errorf("--weight: %w", err)
	}
	for _, name := range names {
		if err := api.CheckReporter(name); err != nil {
			return err
		}
		if name == "" {
			return errors.New("NAME is empty")
		}
	}
	return nil
}

// Command returns the verb reporters.
func Command(c *verb.CLI) *cobra.Command {
	var flags reportersFlags
	cmd := &cobra.Command{
		Use:   "reporters [NAME...]",
		Short: "show the weights of reporters, or set them",
		Long:  reportersHelp,
		Example: `  spambloom reporters
  spambloom reporters --weight 0 anna@example.org       # ignore her reports
  spambloom reporters --no-weight anna@example.org      # use her reputation again`,
		RunE: func(cmd *cobra.Command, names []string) error {
			flags.set = cmd.Flags().Changed("weight")
			if err := flags.check(names); err != nil {
				return verb.UsageError(err)
			}
			return reporters(cmd.Context(), c, names, flags)
		},
		ValidArgsFunction: completeReporters(c),
	}
	cmd.Flags().Float64Var(&flags.weight, "weight", 0, "give the NAMEs the fixed weight `W`, instead of one by reputation")
	cmd.Flags().BoolVar(&flags.noWeight, "no-weight", false, "remove a fixed weight")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object per line and reporter")
	return cmd
}

// completeReporters completes the names of known reporters.
func completeReporters(c *verb.CLI) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		daemon, err := c.Dial()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer daemon.Close()
		list, err := client.Post(cmd.Context(), daemon, v1.Reporters, api.ReportersRequest{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := make([]string, len(list.Reporters))
		for i, r := range list.Reporters {
			names[i] = r.Name
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// reporterError is the daemon's refusal of a request about a reporter.
func reporterError(err error) error {
	return &verb.RequestError{Err: err, Unknown: "spambloom reporters lists the known reporters", IsSetting: true}
}

func reporters(ctx context.Context, c *verb.CLI, names []string, flags reportersFlags) error {
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	var list api.Reporters
	switch {
	case len(names) == 0:
		list, err = allReporters(ctx, daemon)
	case flags.set || flags.noWeight:
		list.Reporters, err = setWeights(ctx, daemon, names, flags)
	default:
		list, err = namedReporters(ctx, daemon, names)
	}
	if flags.asJSON {
		for _, r := range list.Reporters {
			err = errors.Join(err, c.PrintJSON(r))
		}
		return err
	}
	for _, r := range list.Reporters {
		if flags.set && !hasReported(r) { // most likely a mistyped name
			defer c.Notify("warning", r.Name+": this reporter has not reported anything yet")
		}
		if flags.set && flags.weight == 0 && r.Revocations > 0 {
			defer c.Notify("warning", r.Name+": the revocations by this reporter no longer count; messages that others report, and only this reporter revoked, are listed again")
		}
	}
	if len(list.Reporters) > 0 || err == nil {
		err = errors.Join(err, c.Print(reporterTable(list)))
	}
	return err
}

// allReporters fetches all pages of reporters.
func allReporters(ctx context.Context, daemon *client.Client) (all api.Reporters, err error) {
	after := ""
	for {
		page, err := client.Post(ctx, daemon, v1.Reporters, api.ReportersRequest{After: after})
		if err != nil {
			return all, reporterError(err)
		}
		all.Quorum, all.Reporters = page.Quorum, append(all.Reporters, page.Reporters...)
		if page.Next <= after { // empty at the end
			return all, nil
		}
		after = page.Next
	}
}

func namedReporters(ctx context.Context, daemon *client.Client, names []string) (all api.Reporters, err error) {
	for _, name := range names {
		one, err := client.Post(ctx, daemon, v1.Reporters, api.ReportersRequest{Name: name})
		if err != nil {
			return all, reporterError(err)
		}
		all.Quorum, all.Reporters = one.Quorum, append(all.Reporters, one.Reporters...)
	}
	return all, nil
}

// setWeights sets the weights in order. On an error, done holds those already set.
func setWeights(ctx context.Context, daemon *client.Client, names []string, flags reportersFlags) (done []api.Reporter, err error) {
	for _, name := range names {
		ask := api.WeightRequest{Name: name}
		if flags.set {
			ask.Weight = &flags.weight
		}
		r, err := client.Post(ctx, daemon, v1.SetWeight, ask)
		if err != nil {
			return done, reporterError(err)
		}
		done = append(done, r)
	}
	return done, nil
}

func hasReported(r api.Reporter) bool { return r.Reports+r.Revocations > 0 }

// reporterTable formats reporters as a table. Names may be long, so they come last.
func reporterTable(list api.Reporters) string {
	quorum := ""
	if list.Quorum > 0 {
		quorum = fmt.Sprintf("quorum  %.3g\n\n", list.Quorum)
	}
	return quorum + format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "WEIGHT\tCONFIRMED\tREFUTED\tREPORTS\tREVOKED\tLAST\tREPORTER")
		for _, r := range list.Reporters {
			weight := fmt.Sprintf("%.3g", r.Weight)
			if r.Override != nil {
				weight += " set"
			}
			last := "-"
			if hasReported(r) { // else Last is the time when the weight was set
				last = format.Minute(r.Last)
			}
			fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%d\t%d\t%s\t%s\n", weight, r.Confirmed, r.Refuted, r.Reports, r.Revocations, last, r.Name)
		}
	})
}
