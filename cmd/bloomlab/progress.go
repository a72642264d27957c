package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows on a terminal how far the run is; in a pipe it shows nothing.
// add may be called by many goroutines at a time.
type progress struct {
	bar *progressbar.ProgressBar // nil: nobody looks
}

func newProgress(stderr io.Writer, work int) *progress {
	file, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions(work, progressbar.OptionSetWriter(stderr),
		progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())}
}

func (p *progress) describe(name string) {
	if p.bar != nil {
		p.bar.Describe(name)
	}
}

func (p *progress) add(rounds int) {
	if p.bar != nil {
		_ = p.bar.Add(rounds) // a bar that cannot be drawn is no fault of the work
	}
}

// clear makes room for the rows; the next round draws the bar again.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
