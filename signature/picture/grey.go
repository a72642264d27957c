package picture

import "image"

// rows gives an image line by line as luminance, 0 to 255, on white where it is
// transparent.
type rows struct {
	m       image.Image
	palette [256]uint8
}

func newRows(m image.Image) *rows {
	r := &rows{m: m}
	if p, ok := m.(*image.Paletted); ok {
		for i, c := range p.Palette[:min(len(p.Palette), len(r.palette))] {
			r.palette[i] = luminance(c.RGBA())
		}
	}
	return r
}

// luminance is Y' of ITU-R BT.601, as in JPEG, of what color.Color.RGBA returns.
func luminance(r, g, b, a uint32) uint8 {
	y := (299*r + 587*g + 114*b) / 1000
	return uint8(min(y+0xFFFF-a, 0xFFFF) >> 8)
}

// read writes line y, counted from 0, into line, which has the image's width.
func (r *rows) read(line []uint8, y int) {
	b := r.m.Bounds()
	y += b.Min.Y
	switch m := r.m.(type) {
	case *image.YCbCr:
		copy(line, m.Y[m.YOffset(b.Min.X, y):])
	case *image.Gray:
		copy(line, m.Pix[m.PixOffset(b.Min.X, y):])
	case *image.Paletted:
		for x, index := range m.Pix[m.PixOffset(b.Min.X, y):][:len(line)] {
			line[x] = r.palette[index]
		}
	case *image.RGBA:
		mix(line, m.Pix[m.PixOffset(b.Min.X, y):], false)
	case *image.NRGBA:
		mix(line, m.Pix[m.PixOffset(b.Min.X, y):], true)
	case image.RGBA64Image: // all others of image; At would take memory for each pixel
		for x := range line {
			line[x] = luminance(m.RGBA64At(b.Min.X+x, y).RGBA())
		}
	default:
		for x := range line {
			line[x] = luminance(m.At(b.Min.X+x, y).RGBA())
		}
	}
}

// mix is luminance for a line of pixels of four bytes. Straight tells that colour
// is not yet multiplied by alpha.
func mix(line, pixels []uint8, straight bool) {
	for x := range line {
		p := pixels[4*x : 4*x+4 : 4*x+4]
		y := (299*uint32(p[0]) + 587*uint32(p[1]) + 114*uint32(p[2])) / 1000
		a := uint32(p[3])
		if straight && a != 255 {
			y = y * a / 255
		}
		line[x] = uint8(min(y+255-a, 255))
	}
}

// grid is an image made small: the mean luminance of each of side x side fields.
type grid [side][side]float64

// side is a multiple of what the code is made from, so that cut can choose a part
// of the image a little larger or smaller, or beside it.
const side = 128

// shrink averages an image over the fields of a grid. Fields need not end with a
// pixel, so that the same image in another size gives the same.
func shrink(m image.Image) *grid {
	width, height := m.Bounds().Dx(), m.Bounds().Dy()
	r := newRows(m)
	line, sums := make([]uint8, width), make([]float64, width+1)
	var g grid
	var means [side]float64
	for y := range height {
		r.read(line, y)
		average(means[:], line, sums)
		from, to := float64(y)*side/float64(height), float64(y+1)*side/float64(height)
		for row := int(from); row < side && float64(row) < to; row++ {
			share := min(to, float64(row+1)) - max(from, float64(row))
			for x, mean := range means {
				g[row][x] += share * mean
			}
		}
	}
	return &g
}

// average sets means to the means of as many equal stretches of line. sums is
// room for one number more than line has.
func average(means []float64, line []uint8, sums []float64) {
	total := 0
	for x, v := range line {
		total += int(v)
		sums[x+1] = float64(total)
	}
	step := float64(len(line)) / float64(len(means))
	before := 0.0
	for i := range means {
		end := float64(i+1) * step
		x := min(int(end), len(line)-1)
		sum := sums[x] + (end-float64(x))*float64(line[x])
		means[i] = (sum - before) / step
		before = sum
	}
}
