package replay

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// The plot's dimensions, in pixels.
const (
	plotWidth, plotHeight = 800, 420
	plotLeft, plotTop     = 64, 56
	plotRight, plotBottom = 24, 60
	innerWidth            = plotWidth - plotLeft - plotRight
	innerHeight           = plotHeight - plotTop - plotBottom
)

const (
	window    = 200 // spams for the recent share
	maxPoints = 2 * innerWidth
)

// Plot draws an SVG document with the share of spam caught over the messages in their
// order: of all spam so far, and of the last 200. A red mark shows a false positive.
func (r *Result) Plot(w io.Writer) error {
	out := bufio.NewWriter(w) // keeps the first error for Flush
	so, recent := r.shares()
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight, plotHeight)
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(out, `<text x="%d" y="22" font-size="15">Spam caught: %d of %d (%.1f %%); ham hit: %d of %d</text>`+"\n",
		plotLeft, r.Caught, r.Spam, 100*r.CaughtShare, r.HamHit, r.Ham)
	fmt.Fprintf(out, `<text x="%d" y="42" fill="#1f5fa8">of all spam so far</text><text x="%d" y="42" fill="#d98324">of the last %d</text><text x="%d" y="42" fill="#c00000">ham hit</text>`+"\n",
		plotLeft, plotLeft+150, window, plotLeft+280)
	r.axes(out)
	line(out, recent, "#d98324", 1)
	line(out, so, "#1f5fa8", 2)
	for i, o := range r.outcomes {
		if !o.spam && o.caught {
			x := r.x(i)
			fmt.Fprintf(out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#c00000" stroke-width="2"/>`+"\n",
				x, plotTop+innerHeight-10, x, plotTop+innerHeight)
		}
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// axes draws the frame, lines for shares, and the times at five places.
func (r *Result) axes(out io.Writer) {
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#888888"/>`+"\n", plotLeft, plotTop, innerWidth, innerHeight)
	for share := 0; share <= 100; share += 20 {
		y := y(float64(share) / 100)
		fmt.Fprintf(out, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/>`, plotLeft, y, plotLeft+innerWidth, y)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%d %%</text>`+"\n", plotLeft-8, y+4, share)
	}
	for tick := range 5 {
		i := tick * (len(r.outcomes) - 1) / 4
		if len(r.outcomes) == 0 || tick > 0 && i == (tick-1)*(len(r.outcomes)-1)/4 {
			continue // too few messages for five places
		}
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`, r.x(i), plotTop+innerHeight+18, i+1)
		if t := r.outcomes[i].time; !t.IsZero() {
			fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle" fill="#666666">%s</text>`, r.x(i), plotTop+innerHeight+34, t.Format(time.DateOnly))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle">messages, and when they arrived</text>`+"\n", plotLeft+innerWidth/2, plotHeight-8)
}

// x returns the horizontal position of a message.
func (r *Result) x(i int) float64 {
	return plotLeft + innerWidth*float64(i)/float64(max(1, len(r.outcomes)-1))
}

func y(share float64) float64 { return plotTop + innerHeight*(1-share) }

// point is a point of the plot.
type point struct{ x, y float64 }

// shares returns the two lines, with as many points as are visible.
func (r *Result) shares() (so, recent []point) {
	var spams []bool // whether each was caught
	caught, lately := 0, 0
	step := max(1, r.Spam/maxPoints)
	for i, o := range r.outcomes {
		if !o.spam {
			continue
		}
		spams = append(spams, o.caught)
		if o.caught {
			caught++
			lately++
		}
		if n := len(spams); n > window && spams[n-window-1] {
			lately--
		}
		if n := len(spams); n%step == 0 || n == r.Spam {
			so = append(so, point{r.x(i), y(float64(caught) / float64(n))})
			recent = append(recent, point{r.x(i), y(float64(lately) / float64(min(n, window)))})
		}
	}
	return so, recent
}

// line draws points as one line.
func line(out io.Writer, points []point, colour string, width int) {
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "%.1f,%.1f ", p.x, p.y)
	}
	fmt.Fprintf(out, `<polyline fill="none" stroke="%s" stroke-width="%d" points="%s"/>`+"\n", colour, width, strings.TrimSpace(b.String()))
}
