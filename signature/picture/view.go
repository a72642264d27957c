package picture

import "math"

// size is the side of a view.
const size = 64

// view is a part of an image, of about all of it, as a small square.
type view [size][size]float64

// frame is where a view begins and ends in a grid, in fields.
type frame struct{ left, top, right, bottom float64 }

const (
	// margin is what a view leaves out at each side, 3 % of the image: borders
	// that were added, and what cropping takes.
	margin = 4
	// offset, 1 % of the image, is how far the frames of views lie apart.
	offset = 1.3
)

// Views is how many codes an image has.
const Views = 11

// frames are those of the views: the first, a larger and a smaller one, and eight
// beside the first.
var frames = [Views]frame{
	moved(0, 0, 0, 0),
	moved(-1, -1, 1, 1), moved(1, 1, -1, -1),
	moved(-1, 0, -1, 0), moved(1, 0, 1, 0), moved(0, -1, 0, -1), moved(0, 1, 0, 1),
	moved(-1, -1, -1, -1), moved(1, 1, 1, 1), moved(-1, 1, -1, 1), moved(1, -1, 1, -1),
}

func moved(left, top, right, bottom float64) frame {
	return frame{margin + left*offset, margin + top*offset, side - margin + right*offset, side - margin + bottom*offset}
}

// cut takes the part of a grid in a frame.
func cut(g *grid, f frame) *view {
	columns, rows := stretches(f.left, f.right), stretches(f.top, f.bottom)
	var narrow [side][size]float64
	for y := range g {
		for x, s := range columns {
			narrow[y][x] = s.mean(func(i int) float64 { return g[y][i] })
		}
	}
	var v view
	for y, s := range rows {
		for x := range v[y] {
			v[y][x] = s.mean(func(i int) float64 { return narrow[i][x] })
		}
	}
	return &v
}

// stretch is a part of a line of fields.
type stretch struct{ from, to float64 }

func stretches(from, to float64) (s [size]stretch) {
	step := (to - from) / size
	for i := range s {
		s[i] = stretch{from + float64(i)*step, from + float64(i+1)*step}
	}
	return s
}

func (s stretch) mean(at func(int) float64) float64 {
	sum := 0.0
	for i := int(s.from); i < side && float64(i) < s.to; i++ {
		sum += (min(s.to, float64(i+1)) - max(s.from, float64(i))) * at(i)
	}
	return sum / (s.to - s.from)
}

const (
	// bend is by how much, of 255, a field must differ from the mean of those apart
	// fields away in the four directions to show something. Slopes do not; edges,
	// texture and writing do.
	bend, apart = 2, 2
	// leastShown is the share of fields that must. Logos, buttons and headlines on
	// a plain ground have up to a fifth; photographs and written pages, two fifths
	// and more.
	leastShown = 0.3
)

// isPlain tells whether the view shows so little that many images would be alike.
func (v *view) isPlain() bool { return v.shown() < leastShown }

// shown is the share of fields that show something.
func (v *view) shown() float64 {
	count := 0
	for y := apart; y < size-apart; y++ {
		for x := apart; x < size-apart; x++ {
			around := v[y-apart][x] + v[y+apart][x] + v[y][x-apart] + v[y][x+apart]
			if math.Abs(4*v[y][x]-around) > 4*bend {
				count++
			}
		}
	}
	return float64(count) / ((size - 2*apart) * (size - 2*apart))
}

const (
	// radius is how far around a field its mean and contrast are taken.
	radius = 8
	// flatness, times the contrast of the whole view, is added to the local one,
	// so that noise in plain fields stays small.
	flatness = 0.25
)

// equalise takes the local mean away from each field and divides by the local
// contrast, the standard deviation around it.
func (v *view) equalise() *view {
	var sums, squares [size + 1][size + 1]float64 // of all fields above and left
	for y := range size {
		for x, f := range v[y] {
			sums[y+1][x+1] = f + sums[y][x+1] + sums[y+1][x] - sums[y][x]
			squares[y+1][x+1] = float64(f*f) + squares[y][x+1] + squares[y+1][x] - squares[y][x]
		}
	}
	around := func(x0, y0, x1, y1 int) (mean, deviation float64) {
		n := float64((x1 - x0) * (y1 - y0))
		mean = (sums[y1][x1] - sums[y0][x1] - sums[y1][x0] + sums[y0][x0]) / n
		square := (squares[y1][x1] - squares[y0][x1] - squares[y1][x0] + squares[y0][x0]) / n
		return mean, math.Sqrt(max(0, square-float64(mean*mean)))
	}
	_, overall := around(0, 0, size, size)
	floor := 1 + float64(flatness*overall)
	var out view
	for y := range size {
		for x, f := range v[y] {
			mean, deviation := around(max(0, x-radius), max(0, y-radius), min(size, x+radius+1), min(size, y+radius+1))
			out[y][x] = (f - mean) / (deviation + floor)
		}
	}
	return &out
}
