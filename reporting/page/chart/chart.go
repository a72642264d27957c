// Package chart draws what was judged over time as bars, in SVG of the server: for the first screen,
// a campaign, and the row of a campaign. It has no state.
package chart

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/history"
	"github.com/spambloom/spambloom/reporting/overview"
)

// Span is a time that the chart shows, in bars of local time.
type Span struct {
	Name, Bars string
	begin      func(now time.Time) time.Time
	next       func(time.Time) time.Time
	label      func(t time.Time, i int) string
	full       string // form of a bar's time
}

func midnight(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// Spans are all of them; the first is the default.
var Spans = []Span{
	{"day", "hour",
		func(now time.Time) time.Time { return now.Truncate(time.Hour).Add(-23 * time.Hour) },
		func(t time.Time) time.Time { return t.Add(time.Hour) },
		func(t time.Time, _ int) string { return every(t.Hour()%3 == 0, t.Format("15")) }, "2 Jan 15:04"},
	{"week", "six hours",
		func(now time.Time) time.Time { return midnight(now, -6) },
		func(t time.Time) time.Time { return t.Add(6 * time.Hour) },
		func(t time.Time, i int) string { return every(i%4 == 0, t.Format("Mon")) }, "Mon 2 Jan 15:04"},
	{"month", "day",
		func(now time.Time) time.Time { return midnight(now, -29) },
		func(t time.Time) time.Time { return midnight(t, 1) },
		func(t time.Time, i int) string { return every(i%5 == 0, t.Format("2 Jan")) }, "Mon 2 Jan"},
	{"year", "week",
		func(now time.Time) time.Time { return midnight(now, -7*51-(int(now.Weekday())+6)%7) },
		func(t time.Time) time.Time { return midnight(t, 7) },
		func(t time.Time, i int) string { return every(i%9 == 0, t.Format("Jan 06")) }, "2 Jan 2006"},
}

func every(shown bool, label string) string {
	if shown {
		return label
	}
	return ""
}

// SpanOf returns the span of a name, else the day.
func SpanOf(name string) Span {
	for _, s := range Spans {
		if s.Name == name {
			return s
		}
	}
	return Spans[0]
}

// Bounds returns the time at which each bar of a span begins.
func (s Span) Bounds(now time.Time) (bounds []time.Time) {
	now = now.Local()
	for t := s.begin(now); !t.After(now); t = s.next(t) {
		bounds = append(bounds, t)
	}
	return bounds
}

// Bar is what was judged within one bar's time.
type Bar struct {
	Time              string
	Label             string
	Clean, Bulk, Spam uint64
	NotJudged         uint64
}

// Bar returns the empty bar of a number, which begins at a time.
func (s Span) Bar(t time.Time, n int) Bar { return Bar{Time: t.Format(s.full), Label: s.label(t, n)} }

// Count adds up hours to the bars of a span.
func (s Span) Count(now time.Time, hours func(from, to time.Time) []history.Hour) (bars []Bar) {
	begin := s.begin(now.Local())
	list := hours(begin, now)
	for i, t := range s.Bounds(now) {
		end := s.next(t)
		b := s.Bar(t, i)
		for len(list) > 0 && list[0].Start.Before(end) {
			c := list[0].Counts
			b.Clean, b.Bulk, b.Spam = b.Clean+c[figures.Clean], b.Bulk+c[figures.Bulk], b.Spam+c[figures.Spam]
			b.NotJudged += figures.NotJudged(c)
			list = list[1:]
		}
		bars = append(bars, b)
	}
	return bars
}

// Chart is a picture of bars, in the units of its SVG.
type Chart struct {
	Width, Height int
	Class, Title  string
	IsCopy        bool // of another one, for narrow screens
	Rects         []rect
	Labels        []label
	Lines         []label // with a number at the left
}

type rect struct {
	X, Y, Width, Height string
	Class, Title        string
}

type label struct {
	X, Y, Line, Text string
}

// Draw draws bars for wide screens, and for narrow ones.
func Draw(bars []Bar, words [3]string, title string) []Chart {
	list := []Chart{chart(bars, words, 960, 180, title), chart(bars, words, 340, 170, title)}
	list[0].Class, list[1].Class, list[1].IsCopy = "chart large", "chart small", true
	return list
}

// chart draws bars: clean below, then bulk and spam, for which the words are.
func chart(bars []Bar, words [3]string, width, height int, title string) Chart {
	const left, bottom, top = 44, 20, 8
	c := Chart{Width: width, Height: height, Title: title}
	most := uint64(0)
	for _, b := range bars {
		most = max(most, b.Clean+b.Bulk+b.Spam)
	}
	most = roundUp(most)
	room := float64(height - bottom - top)
	yOf := func(n uint64) float64 { return float64(height-bottom) - room*float64(n)/float64(most) }
	lines := []uint64{0, most / 2, most}
	if most%2 == 1 {
		lines = []uint64{0, most}
	}
	for _, n := range lines {
		c.Lines = append(c.Lines, label{X: fmt.Sprint(left - 6), Y: number(yOf(n) + 4), Line: number(yOf(n)), Text: brief(n)})
	}
	step := float64(width-left) / float64(len(bars))
	c.Labels = labels(bars, left, height-5, step)
	for i, b := range bars {
		x := left + step*float64(i)
		below := uint64(0)
		for _, part := range []struct {
			n            uint64
			class, words string
		}{{b.Clean, figures.Clean, words[0]}, {b.Bulk, figures.Bulk, words[1]}, {b.Spam, figures.Spam, words[2]}} {
			if part.n == 0 {
				continue
			}
			y, foot := yOf(below+part.n), yOf(below)
			c.Rects = append(c.Rects, rect{
				X: number(x + step*.1), Y: number(y), Width: number(step * .8), Height: number(max(foot-y, .5)),
				Class: part.class, Title: fmt.Sprintf("%s: %s %s", b.Time, overview.Thousands(part.n), part.words),
			})
			below += part.n
		}
	}
	return c
}

// labels places the labels below bars of a width, every second one where all have no room. None is
// left of the first bar.
func labels(bars []Bar, left, y int, step float64) (list []label) {
	longest, last, apart := 0, 0, len(bars)
	for i, b := range bars {
		if b.Label != "" {
			if longest > 0 {
				apart = min(apart, i-last)
			}
			longest, last = max(longest, len(b.Label)), i
		}
	}
	isCrowded, n := step*float64(apart) < 8.5*float64(longest), 0
	for i, b := range bars {
		if b.Label == "" {
			continue
		}
		if n++; n%2 == 1 || !isCrowded {
			x := max(step*(float64(i)+.5), 3.2*float64(len(b.Label)))
			list = append(list, label{X: number(float64(left) + x), Y: fmt.Sprint(y), Text: b.Label})
		}
	}
	return list
}

func number(v float64) string { return fmt.Sprintf("%.1f", v) }

// roundUp returns a round number that is at least n, and at least 4.
func roundUp(n uint64) uint64 {
	if n <= 4 {
		return 4
	}
	unit := math.Pow(10, math.Floor(math.Log10(float64(n))))
	for _, f := range []float64{1, 2, 4, 6, 8, 10} {
		if float64(n) <= f*unit {
			return uint64(f * unit)
		}
	}
	return n
}

// brief formats a number for the edge of a chart.
func brief(n uint64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return overview.Thousands(n)
}

// Spark draws the mail of a campaign, without axes: its title has the figures. A line marks the
// time of which all mail is counted.
func (s Span) Spark(bars []Bar, bounds []time.Time, since time.Time) Chart {
	const width, height = 112, 22
	most, at := uint64(1), 0
	mails, matched := uint64(0), uint64(0)
	for i, b := range bars {
		mails, matched = mails+b.Clean+b.Spam, matched+b.Spam
		if n := b.Clean + b.Spam; n > most || i == 0 {
			most, at = max(n, 1), i
		}
	}
	chart := Chart{Width: width, Height: height, Title: "none in the last " + s.Name}
	if mails > 0 {
		chart.Title = fmt.Sprintf("%s in the last %s, %s recognised; most from %s: %s", overview.Thousands(mails), s.Name, overview.Thousands(matched), bars[at].Time, overview.Thousands(most))
	}
	step := float64(width) / float64(len(bars))
	known, _ := slices.BinarySearchFunc(bounds, since, time.Time.Compare)
	chart.Lines = []label{{X: number(step * float64(known))}}
	for i, b := range bars {
		foot := float64(height - 1)
		for _, part := range []struct {
			n     uint64
			class string
		}{{b.Clean, figures.Clean}, {b.Spam, figures.Spam}} {
			if part.n == 0 {
				continue
			}
			tall := max(1.5, float64(height-3)*float64(part.n)/float64(most))
			foot -= tall
			chart.Rects = append(chart.Rects, rect{X: number(step * (float64(i) + .1)), Y: number(foot), Width: number(step * .8), Height: number(tall), Class: part.class})
		}
	}
	return chart
}
