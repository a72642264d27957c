// Package draw makes pictures of the laboratory's figures. It owns their style: axes,
// colours, marks, the legend beside the plot. Their data is a lab.Figure.
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
	"slices"
	"strconv"
	"strings"

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
	legend.Padding = vg.Millimeter
	legend.TextStyle.Font.Size = vg.Points(10)
	drawn := 0
	for i, s := range f.Series {
		points := visible(s.Points, f.X, f.Y)
		if len(points.XYs) == 0 {
			continue // all of a logarithmic axis' points are zero
		}
		drawn++
		if err := add(p, &legend, f, i, points); err != nil {
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
		a.Tick.Marker = decades{}
	}
}

// decades are the ticks of a logarithmic axis. plot's own multiply their way up,
// and label what comes of it: 9.999999999999999e-05.
type decades struct{}

// Ticks labels the powers of ten between low and high, and where there are few,
// twice and five times these.
func (decades) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{Prec: 3}.Ticks(low, high)
	named := make(map[string]bool)
	for i, t := range ticks {
		digit, exponent, _ := strings.Cut(strconv.FormatFloat(t.Value, 'e', 2, 64), "e")
		ticks[i].Label = ""
		if named[digit+exponent] || digit != "1.00" && (high > 100*low || digit != "2.00" && digit != "5.00") {
			continue
		}
		named[digit+exponent] = true
		v, _ := strconv.ParseFloat(digit+"e"+exponent, 64)
		ticks[i].Label = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ticks
}

// palette has a colour for each of the first fourteen lines.
var palette = slices.Concat(plotutil.SoftColors, plotutil.DarkColors)

// bound widens a range of one value, which a logarithmic axis cannot show.
func bound(a *plot.Axis, from lab.Axis) {
	if from.Min < from.Max {
		a.Min, a.Max = from.Min, from.Max
	}
	if from.Log && a.Min == a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
}

// origin is the series whose colour series i has: the first whose name its own
// begins with. "refined, printed" looks like "refined".
func origin(all []lab.Series, i int) int {
	return slices.IndexFunc(all, func(s lab.Series) bool { return strings.HasPrefix(all[i].Name, s.Name) })
}

func add(p *plot.Plot, legend *plot.Legend, f lab.Figure, i int, points series) error {
	s, first := f.Series[i], origin(f.Series, i)
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color = palette[first%len(palette)]
	marks.Color = line.Color
	marks.Shape = plotutil.Shape(i)
	if first != i {
		line.Dashes = plotutil.Dashes(2)
	}
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

// visible omits what is no number, and what logarithmic axes cannot show;
// error bars end where these do.
func visible(points []lab.Point, x, y lab.Axis) series {
	var s series
	for _, pt := range points {
		if math.IsNaN(pt.X) || math.IsNaN(pt.Y) || x.Log && pt.X <= 0 || y.Log && pt.Y <= 0 {
			continue
		}
		low := pt.Deviation
		if y.Log {
			low = min(low, pt.Y*0.9) // a bar that reaches zero would have no end
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
