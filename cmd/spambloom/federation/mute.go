// Package federation is the verbs mute, drop and keygen: the keys of a site, and other sites that
// this one ignores. Package join owns the verbs by which a site joins a federation.
package federation

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// siteCodes are the exit codes of the verbs that change the state of a site.
const siteCodes = verb.UsageCode + `
  65  the site is unknown, or it is this site itself` + verb.DaemonCodes

const muteHelp = `mute ignores another site from now on, on this site only. --undo restores it.

The site's reports and counts have no effect any more, and its new records are not
read. Its data is kept, so that --undo restores it completely; the records published
meanwhile are read then. Muting survives restarts. Other sites are not notified.

Exit codes:
  0   success, also if the site was muted already` + siteCodes

const dropHelp = `drop deletes the data of another site, in memory and on disk, on this site only.

The site stays muted, because its published records would restore the data. To read
the site from the beginning again, run spambloom mute --undo SITE. If other sites
reported the same messages, their reports remain. Other sites are not notified.

drop asks on a terminal; without a terminal, --yes is required.

Exit codes:
  0   success
  1   the answer to the question was no` + siteCodes

// siteFlags are the flags of mute and drop.
type siteFlags struct {
	undo, yes, asJSON bool
	reporter          string
}

func (f *siteFlags) check() error {
	if err := api.CheckReporter(f.reporter); err != nil {
		return verb.UsageError(fmt.Errorf("--as: %w", err))
	}
	return nil
}

// MuteCommand returns the verb mute.
func MuteCommand(c *verb.CLI) *cobra.Command {
	var flags siteFlags
	cmd := &cobra.Command{
		Use:   "mute SITE",
		Short: "ignore another site from now on, on this site only; --undo restores it",
		Long:  muteHelp,
		Example: `  spambloom mute mx9
  spambloom mute --undo mx9`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSites(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			return mute(cmd.Context(), c, args[0], flags)
		},
	}
	cmd.Flags().BoolVar(&flags.undo, "undo", false, "stop ignoring the site")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object: before, now")
	cmd.Flags().StringVar(&flags.reporter, "as", "", verb.AskerUsage)
	return cmd
}

// DropCommand returns the verb drop.
func DropCommand(c *verb.CLI) *cobra.Command {
	var flags siteFlags
	cmd := &cobra.Command{
		Use:               "drop SITE",
		Short:             "delete the data of another site, on this site only",
		Long:              dropHelp,
		Example:           `  spambloom drop --yes mx9`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSites(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			return drop(cmd.Context(), c, args[0], flags)
		},
	}
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do it without asking")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object: before, now")
	cmd.Flags().StringVar(&flags.reporter, "as", "", verb.AskerUsage)
	return cmd
}

// completeSites completes the names of the other sites.
func completeSites(c *verb.CLI) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, err := verb.Asked(cmd.Context(), c, v1.Sites)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, s := range list.Sites {
			if s.State != api.StateSelf {
				names = append(names, s.Site+"\t"+s.State)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// siteError is the daemon's refusal of a request about a site.
func siteError(err error) error {
	return &verb.RequestError{Err: err, Unknown: "spambloom sites lists the known sites", IsSetting: true}
}

func mute(ctx context.Context, c *verb.CLI, site string, flags siteFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	done, err := client.Post(ctx, daemon, v1.Mute, api.SiteRequest{Site: site, Undo: flags.undo, Reporter: flags.reporter})
	if err != nil {
		return siteError(err)
	}
	return c.PrintEither(flags.asJSON, done, mutedText(done, flags.undo))
}

// mutedText describes what was done.
func mutedText(done api.SiteReceipt, undo bool) string {
	was := done.Before.State
	switch {
	case !undo && was == api.StateDropped:
		return fmt.Sprintf("%s: already dropped, and therefore muted\n", done.Before.Site)
	case !undo && was == api.StateMuted:
		return fmt.Sprintf("%s: already muted\n", done.Before.Site)
	case !undo:
		return fmt.Sprintf("%s: muted; its data (%s) is kept, but ignored\n", done.Before.Site, format.Size(done.Before.Memory))
	case was == api.StateDropped:
		return fmt.Sprintf("%s: no longer muted; its snapshot and stream are read from the beginning\n", done.Before.Site)
	case was == api.StateMuted:
		return fmt.Sprintf("%s: no longer muted\n", done.Before.Site)
	}
	return fmt.Sprintf("%s: was not muted\n", done.Before.Site)
}

func drop(ctx context.Context, c *verb.CLI, site string, flags siteFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	if !flags.yes && !verb.IsTerminal(c.In) {
		return verb.UsageError(errors.New("not a terminal: add --yes to confirm"))
	}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	if !flags.yes {
		list, err := client.Get(ctx, daemon, v1.Sites)
		if err != nil {
			return err
		}
		if held, ok := find(list.Sites, site); ok && !c.Ask(dropQuestion(held)) {
			return verb.Exit(verb.Declined)
		}
	}
	done, err := client.Post(ctx, daemon, v1.Drop, api.SiteRequest{Site: site, Reporter: flags.reporter})
	if err != nil {
		return siteError(err)
	}
	return c.PrintEither(flags.asJSON, done,
		fmt.Sprintf("%s: dropped; %s freed; to read it again: spambloom mute --undo %s\n", site, format.Size(done.Before.Memory-done.Now.Memory), site))
}

func find(sites []api.Site, name string) (api.Site, bool) {
	for _, s := range sites {
		if s.Site == name && s.State != api.StateSelf {
			return s, true
		}
	}
	return api.Site{}, false
}

// dropQuestion names the data that will be deleted.
func dropQuestion(s api.Site) string {
	return fmt.Sprintf("drop %s: delete its %d bits and cells (%s), and ignore it until spambloom mute --undo %s?",
		s.Site, s.Cells, format.Size(s.Memory), s.Site)
}
