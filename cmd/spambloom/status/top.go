package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/overview"
)

const watchEvery = 2 * time.Second

// TopCommand returns the verb top.
func TopCommand(c *verb.CLI) *cobra.Command {
	var times int
	cmd := &cobra.Command{
		Use:   "top",
		Short: "show live what is judged, and by which sites spam was reported",
		Long: `top shows the state of the daemon every two seconds: whether mail is judged, what needs
an administrator, messages a minute by verdict, sites, and the last 24 hours. Ctrl-C ends
it.

If the output is not a terminal, each screen follows the one before.

Exit codes:
  0   ended by Ctrl-C, or after --times screens` + verb.StatusCodes,
		Example: `  spambloom top
  spambloom top --times 1`,
		Args: verb.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			live := &live{}
			return redraw(cmd.Context(), c, times, func(ctx context.Context) (string, error) {
				s, err := verb.Asked(ctx, c, v1.Status)
				if err != nil {
					return "", err
				}
				list, err := verb.Asked(ctx, c, v1.Sites)
				return live.screen(s, list.Sites, time.Now()), err
			})
		},
	}
	cmd.Flags().IntVar(&times, "times", 0, "end after `N` screens (default: never)")
	return cmd
}

// redraw prints a text again and again until the user interrupts it, or so many times unless
// that is 0.
func redraw(ctx context.Context, c *verb.CLI, times int, draw func(context.Context) (string, error)) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	isTerminal := verb.IsTerminal(c.Out)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		text, err := draw(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if isTerminal {
			err = c.Clear()
		}
		if err := errors.Join(err, c.Print(text)); err != nil || n == times {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// live remembers the counts of the screen before.
type live struct {
	at     time.Time
	counts map[string]uint64
}

// screen formats one screen of top.
func (l *live) screen(s api.Status, sites []api.Site, now time.Time) string {
	if s.Overview == nil {
		return "the daemon is too old for top: see spambloom status\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "spambloom on %s, %s\n\n", s.Database.Site, now.Format("15:04:05"))
	b.WriteString(format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "MAIL\tA MINUTE")
		for _, key := range []string{figures.Clean, figures.Bulk, figures.Spam, figures.SpamOthers, figures.Skipped, figures.Failed} {
			words, _ := figures.Words(key)
			fmt.Fprintf(table, "%s\t%s\n", words, l.rate(key, s.Overview.LastDay, now))
		}
	}))
	l.at, l.counts = now, s.Overview.LastDay
	b.WriteByte('\n')
	b.WriteString(format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "SITE\tSTATE\tHEARD\tCAUGHT FOR US, 24 H")
		for _, site := range sites {
			heard, caught := "-", overview.Thousands(s.Overview.LastDay[figures.FromSite+":"+site.Site])
			if site.Link != nil && site.Heard != nil {
				heard = overview.Ago(*site.Heard, now)
			}
			if site.State == api.StateSelf {
				caught = "-"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", site.Site, stateText(site), heard, caught)
		}
	}))
	return b.String() + "\n" + s.Overview.Text(now)
}

// rate returns the messages a minute since the screen before. An hour that has just left the
// last 24 makes a count smaller; then there is no rate until the next screen.
func (l *live) rate(key string, counts map[string]uint64, now time.Time) string {
	if l.at.IsZero() || counts[key] < l.counts[key] {
		return "..."
	}
	return fmt.Sprintf("%.0f", float64(counts[key]-l.counts[key])/now.Sub(l.at).Minutes())
}
