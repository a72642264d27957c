package verb

import (
	"cmp"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Many is the number of messages above which a change has to be confirmed. A folder that
// was named by mistake has more.
const Many = 20

// Progress shows the number of finished messages on a terminal. Their number is known if
// they were counted before. Otherwise it is unknown until the last mbox is read, and no
// share is shown.
type Progress struct {
	w        io.Writer // nil: not a terminal
	expected int       // messages; 0: unknown
	done     int
	bar      *progressbar.ProgressBar // nil up to Many messages
}

// StartProgress shows progress on stderr, below the results on the same terminal. A verb
// that only asks shows none there, unless it prints its results at the end.
func (c *CLI) StartProgress() *Progress {
	c.bar = &Progress{}
	if IsTerminal(c.Err) && (!IsTerminal(c.Out) || c.Late || c.Changes) {
		c.bar.w, c.bar.expected = c.Err, c.Expected
	}
	return c.bar
}

// Add counts a message.
func (p *Progress) Add() {
	p.done++
	if p.w == nil || p.done <= Many {
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
func (p *Progress) clear() {
	if p != nil && p.bar != nil { // nil: no messages are being processed
		_ = p.bar.Clear()
	}
}

// Finish removes the bar.
func (p *Progress) Finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
