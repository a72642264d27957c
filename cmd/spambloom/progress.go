package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// barThreshold is the number of messages up to which no progress bar is shown.
const barThreshold = 20

// progress shows the number of finished messages on a terminal. The total is unknown
// until the last mbox is read, so no share is shown.
type progress struct {
	w    io.Writer // nil: not a terminal
	done int
	bar  *progressbar.ProgressBar // nil up to barThreshold
}

// newProgress shows progress on stderr, unless results appear on the terminal as they
// are ready. Some verbs print none before the end.
func newProgress(c *cli) *progress {
	if !isTerminal(c.stderr) || isTerminal(c.stdout) && !c.late {
		return &progress{}
	}
	return &progress{w: c.stderr}
}

// add counts a message.
func (p *progress) add() {
	p.done++
	if p.w == nil || p.done <= barThreshold {
		return
	}
	step := 1
	if p.bar == nil {
		p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(p.w),
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
