package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows the progress of a run on a terminal; in a pipe it shows nothing.
// add may be called concurrently.
type progress struct {
	bar *progressbar.ProgressBar // nil: not a terminal
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
		_ = p.bar.Add(rounds) // failing to draw the bar does not affect the run
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
