package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// few is the number of messages up to which nobody waits for long.
const few = 20

// progress shows on a terminal how many messages are done. How many there are
// is not known before an mbox is read to its end, so it counts.
type progress struct {
	w    io.Writer // nil: nobody looks
	done int
	bar  *progressbar.ProgressBar // nil up to few
}

// newProgress shows progress on stderr. Results that run over a terminal are
// progress enough; some verbs print none before the end.
func newProgress(c *cli) *progress {
	if !isTerminal(c.stderr) || isTerminal(c.stdout) && !c.late {
		return &progress{}
	}
	return &progress{w: c.stderr}
}

// add counts a message.
func (p *progress) add() {
	p.done++
	if p.w == nil || p.done <= few {
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
	_ = p.bar.Add(step) // a bar that cannot be drawn is no fault of the work
}

// clear makes room for a line; the next message draws the bar again.
func (p *progress) clear() {
	if p != nil && p.bar != nil { // nil: nothing is worked on
		_ = p.bar.Clear()
	}
}

// finish takes the bar away.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
