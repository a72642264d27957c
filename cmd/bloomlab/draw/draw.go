// Package draw makes pictures of the laboratory's figures. It owns how they look:
// axes, colours, marks, the legend beside the plot. What they show is a
// lab.Figure.
//
//	lab.Figure -> plot -> NAME.svg, NAME.png
package draw

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// Size of a picture, legend included.
const (
	width  = 20 * vg.Centimeter
	height = 11 * vg.Centimeter
	gap    = 4 * vg.Millimeter // between plot and legend
)

// Save writes the figure to dir as SVG and as PNG, replacing what is there.
func Save(dir string, f lab.Figure) error {
	p, legend, err := compose(f)
	if err != nil {
		return fmt.Errorf("figure %s: %w", f.Name, err)
	}
	for _, format := range []string{"svg", "png"} {
		if err := write(filepath.Join(dir, f.Name+"."+format), format, p, legend); err != nil {
			return fmt.Errorf("figure %s: %w", f.Name, err)
		}
	}
	return nil
}

func write(path, format string, p *plot.Plot, legend *plot.Legend) error {
	c, err := vgdraw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return err
	}
	all := vgdraw.New(c)
	all.SetColor(color.White) // a picture can be read on any ground
	all.Fill(all.Rectangle.Path())
	side := legend.Rectangle(all).Size().X
	p.Draw(vgdraw.Crop(all, gap, -side-2*gap, gap, -gap))
	legend.Draw(vgdraw.Crop(all, 0, -gap, 0, -2*gap))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := c.WriteTo(file); err != nil {
		return err
	}
	return file.Close()
}

func compose(f lab.Figure) (*plot.Plot, *plot.Legend, error) {
	p := plot.New()
	p.Title.Text = f.Title
	setAxis(&p.X, f.X)
	setAxis(&p.Y, f.Y)
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top = true
	drawn := 0
	for i, s := range f.Series {
		points := visible(s.Points, f.X, f.Y)
		if len(points.XYs) == 0 {
			continue // all of a logarithmic axis' points are zero
		}
		drawn++
		if err := add(p, &legend, i, s, points); err != nil {
			return nil, nil, fmt.Errorf("series %s: %w", s.Name, err)
		}
	}
	if drawn == 0 {
		return nil, nil, errors.New("no points")
	}
	bound(&p.X, f.X)
	bound(&p.Y, f.Y)
	return p, &legend, nil
}

func setAxis(a *plot.Axis, from lab.Axis) {
	a.Label.Text = from.Label
	a.Padding = 0
	if from.Log {
		a.Scale = plot.LogScale{}
		a.Tick.Marker = plot.LogTicks{Prec: -1}
	}
}

// bound widens a range of one value, which a logarithmic axis cannot show.
func bound(a *plot.Axis, from lab.Axis) {
	if from.Min < from.Max {
		a.Min, a.Max = from.Min, from.Max
	}
	if from.Log && a.Min == a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
}

func add(p *plot.Plot, legend *plot.Legend, i int, s lab.Series, points series) error {
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, marks.Color = plotutil.Color(i), plotutil.Color(i)
	marks.Shape = plotutil.Shape(i)
	if s.Theory {
		line.Dashes = plotutil.Dashes(1)
		p.Add(line)
		legend.Add(s.Name, line)
		return nil
	}
	p.Add(line, marks)
	legend.Add(s.Name, line, marks)
	if !points.deviates() {
		return nil
	}
	bars, err := plotter.NewYErrorBars(points)
	if err != nil {
		return err
	}
	bars.Color = line.Color
	p.Add(bars)
	return nil
}

// series are the points of one line with their error bars.
type series struct {
	plotter.XYs
	plotter.YErrors
}

// visible leaves out what is no number, and what logarithmic axes cannot show;
// error bars end where these do.
func visible(points []lab.Point, x, y lab.Axis) series {
	var s series
	for _, pt := range points {
		if math.IsNaN(pt.X) || math.IsNaN(pt.Y) || x.Log && pt.X <= 0 || y.Log && pt.Y <= 0 {
			continue
		}
		low := pt.Deviation
		if y.Log && pt.Y-low <= 0 {
			low = pt.Y * 0.9
		}
		s.XYs = append(s.XYs, plotter.XY{X: pt.X, Y: pt.Y})
		s.YErrors = append(s.YErrors, struct{ Low, High float64 }{low, pt.Deviation})
	}
	return s
}

func (s series) deviates() bool {
	for _, e := range s.YErrors {
		if e.High > 0 {
			return true
		}
	}
	return false
}
