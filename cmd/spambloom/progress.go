package main

import (
	"cmp"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// progress shows the number of finished messages on a terminal. Their number is known if
// they were counted before. Otherwise it is unknown until the last mbox is read, and no
// share is shown.
type progress struct {
	w        io.Writer // nil: not a terminal
	expected int       // messages; 0: unknown
	done     int
	bar      *progressbar.ProgressBar // nil up to many messages
}

// startProgress shows progress on stderr, below the results on the same terminal. A verb
// that only asks shows none there, unless it prints its results at the end.
func (c *cli) startProgress() *progress {
	c.bar = &progress{}
	if verb.IsTerminal(c.Err) && (!verb.IsTerminal(c.Out) || c.late || c.changes) {
		c.bar.w, c.bar.expected = c.Err, c.expected
	}
	return c.bar
}

// add counts a message.
func (p *progress) add() {
	p.done++
	if p.w == nil || p.done <= many {
		return
	}
	step := 1
	if p.bar == nil {
		p.bar = progressbar.NewOptions(cmp.Or(p.expected, -1), progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription("messages"), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetSpinnerChangeInterval(0),
			progressbar.OptionClearOnFinish())
		step = p.done
	}
	_ = p.bar.Add(step) // failing to draw the bar does not affect the work
}

// clear makes room for a line; the next message draws the bar again.
func (p *progress) clear() {
	if p != nil && p.bar != nil { // nil: no messages are being processed
		_ = p.bar.Clear()
	}
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
