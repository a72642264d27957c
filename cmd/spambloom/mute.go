package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

const muteHelp = `mute takes another site's say away, here and at once: its reports and counts act on
nothing any more, and what it publishes is not read. What is held of it is kept, so
that --undo brings it back whole; what it published meanwhile then comes after. It
holds over restarts. No other site is told.

Exit codes:
  0   it is done, or was so before` + siteCodes

const dropHelp = `drop deletes what this site holds of another one, in memory and on disk: all is as if
that site had never been heard. It stays muted, since what it has published would
bring all of it back; spambloom mute --undo SITE hears it again, from anew.
Reports that other sites made of the same messages stay. No other site is told.

It asks on a terminal, and wants --yes where there is none.

Exit codes:
  0   it is done
  1   the answer to the question was no` + siteCodes

// siteFlags are those of mute and drop.
type siteFlags struct {
	undo, yes, asJSON bool
	reporter          string
}

func (f *siteFlags) check() error {
	if err := api.CheckReporter(f.reporter); err != nil {
		return &usageError{fmt.Errorf("--as: %w", err)}
	}
	return nil
}

func (c *cli) muteCommand() *cobra.Command {
	var flags siteFlags
	cmd := &cobra.Command{
		Use:   "mute SITE",
		Short: "take another site's say away, on this site only; --undo gives it back",
		Long:  muteHelp,
		Example: `  spambloom mute mx9
  spambloom mute --undo mx9`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeSites,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.mute(cmd.Context(), args[0], flags)
		},
	}
	cmd.Flags().BoolVar(&flags.undo, "undo", false, "hear the site again")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object: before, now")
	cmd.Flags().StringVar(&flags.reporter, "as", "", askerUsage)
	return cmd
}

func (c *cli) dropCommand() *cobra.Command {
	var flags siteFlags
	cmd := &cobra.Command{
		Use:               "drop SITE",
		Short:             "delete what is held of another site, on this site only",
		Long:              dropHelp,
		Example:           `  spambloom drop --yes mx9`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeSites,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.drop(cmd.Context(), args[0], flags)
		},
	}
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do it without asking")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object: before, now")
	cmd.Flags().StringVar(&flags.reporter, "as", "", askerUsage)
	return cmd
}

// completeSites offers the sites that the daemon knows.
func (c *cli) completeSites(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := asked(cmd.Context(), c, v1.Sites)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, s := range list.Sites {
		if s.State != api.StateSelf {
			names = append(names, s.Site+"\t"+s.State)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// siteError is a refusal to do something about a site.
type siteError struct{ error }

func (e *siteError) Unwrap() error { return e.error }

func (c *cli) mute(ctx context.Context, site string, flags siteFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	done, err := client.Post(ctx, daemon, v1.Mute, api.SiteRequest{Site: site, Undo: flags.undo, Reporter: flags.reporter})
	if err != nil {
		return &siteError{err}
	}
	return c.printEither(flags.asJSON, done, muted(done, flags.undo))
}

// muted says what was done.
func muted(done api.SiteReceipt, undo bool) string {
	was := done.Before.State
	switch {
	case !undo && was == api.StateDropped:
		return fmt.Sprintf("%s: dropped before, which is more\n", done.Before.Site)
	case !undo && was == api.StateMuted:
		return fmt.Sprintf("%s: muted before\n", done.Before.Site)
	case !undo:
		return fmt.Sprintf("%s: muted; what is held of it (%s) has no say any more\n", done.Before.Site, size(done.Before.Memory))
	case was == api.StateDropped:
		return fmt.Sprintf("%s: heard again, from anew; its snapshot and stream bring what it has\n", done.Before.Site)
	case was == api.StateMuted:
		return fmt.Sprintf("%s: heard again\n", done.Before.Site)
	}
	return fmt.Sprintf("%s: was not muted\n", done.Before.Site)
}

func (c *cli) drop(ctx context.Context, site string, flags siteFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	if !flags.yes && !isTerminal(c.stdin) {
		return &usageError{errors.New("nobody is there to be asked: drop wants --yes")}
	}
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	if !flags.yes {
		list, err := client.Get(ctx, daemon, v1.Sites)
		if err != nil {
			return err
		}
		if held, ok := find(list.Sites, site); ok && !c.confirm(dropQuestion(held)) {
			return errDeclined
		}
	}
	done, err := client.Post(ctx, daemon, v1.Drop, api.SiteRequest{Site: site, Reporter: flags.reporter})
	if err != nil {
		return &siteError{err}
	}
	return c.printEither(flags.asJSON, done,
		fmt.Sprintf("%s: dropped; %s freed; to hear it again: spambloom mute --undo %s\n", site, size(done.Before.Memory-done.Now.Memory), site))
}

func find(sites []api.Site, name string) (api.Site, bool) {
	for _, s := range sites {
		if s.Site == name && s.State != api.StateSelf {
			return s, true
		}
	}
	return api.Site{}, false
}

// dropQuestion says what will be gone.
func dropQuestion(s api.Site) string {
	return fmt.Sprintf("drop %s: delete its %d bits and cells (%s), and hear nothing of it until spambloom mute --undo %s?",
		s.Site, s.Cells, size(s.Memory), s.Site)
}
