package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/overview"
)

const sitesHelp = `sites shows the state of this site and of every other site of the federation.

STATE        heard; silent (no record for a minute, or never); loading (its earlier data
             is being read); capped (over its [[peer]] caps, until the period ends); clock
             (its clock is more than an hour off; records from the future are pending);
             stale (it runs on an older state folder, see below); muted; dropped; ignored
             (its trust is none, or only others are named as peers)
HEARD        the age of its latest record
LAG          its deltas that are not in this database yet; unknown while it is silent, as
             are BEHIND and GAPS
BEHIND       the age of the oldest of them
FILL         the used share of its caps, in the fullest filter
FALSE MATCH  the estimated chance that its reports match one signature that nobody
             reported; a message has eight signatures at most
VOTES        "held" if its recent reports are kept as votes
GAPS         missing deltas that no snapshot has filled yet
REFUSED      records rejected since the start, by cause

A stale site runs on an older state folder than the one known here, for example from a
backup. Its records are refused. It recovers by itself if another site still has its
newer heartbeat. If it remains stale for minutes, delete its data here:

  spambloom drop SITE && spambloom mute --undo SITE

A muted or dropped site is ignored, also if it is invited again. Below the table stands
how to use its reports again, or how to remove the name of a site that has gone.

Warnings below the table are the reasons why other sites are not heard: redis.url is not
set, a fault of Redis and what to do about it, or sites that use the same Redis with
another federation key or other values in [reports].

Exit codes:
  0   the daemon has answered` + verb.StatusCodes

// SitesCommand returns the verb sites.
func SitesCommand(c *verb.CLI) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sites",
		Short: "show the state of the other sites: trust, lag, false matches, refused records",
		Long:  sitesHelp,
		Example: `  spambloom sites
  spambloom sites --json`,
		Args: verb.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return sites(cmd.Context(), c, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line and site")
	return cmd
}

func sites(ctx context.Context, c *verb.CLI, asJSON bool) error {
	list, err := verb.Asked(ctx, c, v1.Sites)
	if err != nil {
		return err
	}
	if len(list.Refused) > 0 {
		defer c.Notify("warning", fmt.Sprintf("also refused, from unknown sites or with a wrong key: %s; the daemon's log names the senders", refusals(list.Refused)))
	}
	for _, note := range slices.Backward(list.Notes) { // deferred calls run backwards
		defer c.Notify("warning", note)
	}
	if list.NewSite {
		defer c.Notify("hint", "this site is new: "+newSite)
	}
	if list.RedisFault != "" {
		defer c.Notify("warning", "Redis: "+list.RedisFault)
	}
	for _, s := range slices.Backward(list.Sites) {
		if kind, text := siteNotice(s, time.Now()); text != "" {
			defer c.Notify(kind, text)
		}
	}
	return verb.PrintList(c, asJSON, list.Sites, func(sites []api.Site) string { return siteTable(sites, time.Now()) })
}

// publishing is the age of a site's latest record up to which it is in use somewhere.
const publishing = time.Minute

// siteNotice returns what an administrator can do about a site in its state, and the kind of that
// notice; empty: nothing.
func siteNotice(s api.Site, now time.Time) (kind, text string) {
	publishes := s.Link != nil && s.Heard != nil && now.Sub(*s.Heard) < publishing
	switch {
	case s.State == api.StateStale:
		return "warning", fmt.Sprintf("%s runs on an older state folder, and its records are refused. If this lasts: spambloom drop %[1]s && spambloom mute --undo %[1]s", s.Site)
	case s.IsIgnored() && publishes:
		return "hint", fmt.Sprintf("%s is %s here, so its reports have no effect; to use them again: spambloom mute --undo %[1]s", s.Site, s.State)
	case s.State == api.StateDropped:
		return "hint", fmt.Sprintf("%s is dropped, and publishes nothing; if it has gone, delete its keys in Redis (contrib/backup.md), and remove its name here: spambloom mute --undo %[1]s", s.Site)
	}
	return "", ""
}

// siteTable formats the sites as a table.
func siteTable(sites []api.Site, now time.Time) string {
	return format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "SITE\tSTATE\tTRUST\tHEARD\tLAG\tBEHIND\tFILL\tFALSE MATCH\tVOTES\tGAPS\tREFUSED")
		for _, s := range sites {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Site, stateText(s), cmp.Or(s.Trust, "-"), strings.Join(linkCells(s, now), "\t"))
		}
	})
}

// stateText returns the state and its details.
func stateText(s api.Site) string {
	switch {
	case s.State == api.StateClock && s.Link != nil:
		return fmt.Sprintf("clock %+.1f h", s.SkewSeconds/3600)
	case s.State == api.StateLoading && s.Link != nil && s.ChunksOf > 0:
		return fmt.Sprintf("loading %d/%d", s.Chunks, s.ChunksOf)
	}
	return s.State
}

// unknown is what cannot be known of a site that is not heard.
const unknown = "unknown"

// linkCells returns the columns from HEARD on.
func linkCells(s api.Site, now time.Time) []string {
	cells := []string{"-", "-", "-", fullest(s.Fill), overview.Chance(s.Error), "-", "-", "-"}
	if s.State == api.StateSelf {
		cells[3], cells[4] = "-", "-" // they are for other sites
	}
	if s.Link == nil {
		return cells
	}
	heard := time.Time{}
	if s.Heard != nil {
		heard = *s.Heard
	}
	cells[0], cells[1] = overview.Ago(heard, now), fmt.Sprint(s.Lag)
	cells[2], cells[6] = (time.Duration(s.LagSeconds) * time.Second).String(), fmt.Sprint(s.Gaps)
	if s.IsSilent() { // what it has published since is not known
		cells[1], cells[2], cells[6] = unknown, unknown, unknown
	}
	if s.Votes > 0 {
		cells[5] = "held"
	}
	cells[7] = refusals(s.Refused)
	return cells
}

// fullest returns the largest share.
func fullest(fill map[string]float64) string {
	most := 0.0
	for _, f := range fill {
		most = max(most, f)
	}
	return share(most)
}

func share(f float64) string {
	if f > 0 && f < 0.01 {
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*f)
}
