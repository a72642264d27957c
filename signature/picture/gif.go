package picture

import (
	"bufio"
	"compress/lzw"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"io"
	"slices"
)

// A GIF is a header, the size of the screen, colours, and blocks: frames, which are drawn
// on top of each other, and extensions. Numbers have two bytes, little-endian.
const (
	lengthOfScreen = 13
	lengthOfFrame  = 10
	hasColours     = 0x80 // a flag of screen and frames; the lowest three bits are how many
	isInterlaced   = 0x40 // a flag of frames

	// patience is for how long, in hundredths of a second, a picture is shown before readers have seen it,
	// whatever comes later.
	patience = 1000
	// shortest is for how long programs show frames with a delay of 0 or 1.
	shortest = 10
	// maxFrames is how many frames are drawn, and maxScreens how often the pixels of the screen.
	maxFrames, maxScreens = 32, 8
)

// gifFile is what is read of a GIF before frames are decoded.
type gifFile struct {
	screen  image.Rectangle
	colours []byte // of frames without their own
	// latest are the frames that make what is shown at last, best those of the frame with the longest delay
	// since the picture changed by much, and longest those of the picture that is shown longest. Of what
	// is drawn in more than maxFrames, these are the first and the last ones.
	latest, best, longest []gifFrame
	since, bestDelay      int // delays since the picture changed by much, together and the longest
	most                  int // delay of longest
	plays                 int // 0: without end
}

type gifFrame struct {
	rect        image.Rectangle
	colours     []byte
	data        []byte // from the width of a code on
	delay       int    // for how long it is shown
	transparent int    // a colour, or -1
	interlaced  bool
	clears      bool // is removed after it was shown
	restores    bool // what was before is shown again after it
}

// readGIF reads the blocks up to the end, or to a fault.
func readGIF(content []byte) (g gifFile) {
	g.plays = 1
	if len(content) < lengthOfScreen {
		return g
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint16(content[at:])) }
	g.screen = image.Rect(0, 0, number(6), number(8))
	at := lengthOfScreen
	g.colours, at = gifColours(content, content[10], at)
	control := gifFrame{transparent: -1}
	for len(content)-at > lengthOfFrame {
		switch content[at] {
		case '!':
			g.readExtension(content[at+1], content[at+2:], &control)
			at = endOfGIFBlocks(content, at+2)
		case ',':
			f, flags := control, content[at+9]
			f.rect = image.Rect(0, 0, number(at+5), number(at+7)).Add(image.Pt(number(at+1), number(at+3)))
			if f.rect.Empty() { // as browsers do
				f.rect = image.Rectangle{Max: g.screen.Max}.Add(f.rect.Min)
			}
			if len(g.latest) == 0 { // browsers enlarge the screen
				g.screen = g.screen.Union(f.rect)
			}
			f.colours, at = gifColours(content, flags, at+lengthOfFrame)
			f.data, f.interlaced = content[at:], flags&isInterlaced != 0
			g.add(f)
			control = gifFrame{transparent: -1}
			at = endOfGIFBlocks(content, at+1)
		default:
			return g
		}
	}
	return g
}

// readExtension reads what an extension says about the next frame, or how often all are repeated.
func (g *gifFile) readExtension(label byte, data []byte, next *gifFrame) {
	switch {
	case label == 0xf9 && data[0] >= 4: // graphic control
		next.delay = int(binary.LittleEndian.Uint16(data[2:]))
		disposal := data[1] >> 2 & 7
		next.clears, next.restores = disposal == 2, disposal == 3 || disposal == 4
		if next.transparent = -1; data[1]&1 != 0 {
			next.transparent = int(data[4])
		}
	case label == 0xff && len(data) > 15 && isLoop(string(data[:12])) && data[12] >= 3 && data[13]&7 == 1:
		if g.plays = int(binary.LittleEndian.Uint16(data[14:])); g.plays > 0 {
			g.plays++
		}
	}
}

// isLoop reports whether an extension of that name tells how often an animation is repeated.
func isLoop(name string) bool { return name == "\x0bNETSCAPE2.0" || name == "\x0bANIMEXTS1.0" }

// gifColours returns the colours at a position, three bytes each, and where they end.
func gifColours(content []byte, flags byte, at int) (colours []byte, end int) {
	if flags&hasColours == 0 {
		return nil, at
	}
	end = min(len(content), at+3<<(flags&7+1))
	return content[at:end], end
}

// endOfGIFBlocks returns where the data that begins at a position ends: blocks of up to 255 bytes, the
// length before each, up to an empty one.
func endOfGIFBlocks(content []byte, at int) int {
	for at < len(content) && content[at] != 0 {
		at += 1 + int(content[at])
	}
	return min(len(content), at+1)
}

// add adds a frame. It hides all others if it covers the screen, and stays. One that changes less than a quarter of
// the screen belongs to the picture before it.
func (g *gifFile) add(f gifFrame) {
	if f.delay <= 1 {
		f.delay = shortest
	}
	if n := len(g.latest); n > 0 && g.latest[n-1].restores {
		g.latest = g.latest[:n-1]
	}
	if f.transparent < 0 && g.screen.In(f.rect) && !f.restores {
		g.latest = g.latest[:0]
	}
	screen := g.screen.Dx() * g.screen.Dy()
	for n := len(g.latest); n == maxFrames || n > 1 && pixels(g.latest)+f.pixels() > maxScreens*screen; n-- {
		g.latest = slices.Delete(g.latest, 1, 2)
	}
	g.latest = append(g.latest, f)
	if 4*f.pixels() >= screen {
		g.since, g.bestDelay = 0, -1
	}
	if f.delay > g.bestDelay {
		g.best, g.bestDelay = append(g.best[:0], g.latest...), f.delay
	}
	if g.since += f.delay; len(g.longest) == 0 || g.since > g.most {
		g.longest, g.most = append(g.longest[:0], g.best...), g.since
	}
}

// shown returns the frames that make the picture which is shown longest. An animation that ends shows the
// last one for good.
func (g gifFile) shown() []gifFrame {
	if g.plays == 0 || g.plays*g.most > patience {
		return g.longest
	}
	return g.latest
}

// cost returns what decoding costs, in pixels.
func (g gifFile) cost() int { return max(pixels(g.shown()), g.screen.Dx()*g.screen.Dy()) }

func pixels(frames []gifFrame) (n int) {
	for i := range frames {
		n += frames[i].pixels()
	}
	return n
}

func (f *gifFrame) pixels() int { return f.rect.Dx() * f.rect.Dy() }

// decode returns the picture, in grey on white.
func (g gifFile) decode() image.Image {
	m := image.NewGray(g.screen)
	for i := range m.Pix {
		m.Pix[i] = 0xff
	}
	var before gifFrame
	var unpacker lzw.Reader
	for _, f := range g.shown() {
		if before.clears {
			draw.Draw(m, before.rect, image.White, image.Point{}, draw.Src)
		}
		f.draw(m, g.colours, &unpacker)
		before = f
	}
	return m
}

// draw draws a frame. Of damaged data, what is before the damage is drawn.
func (f gifFrame) draw(m *image.Gray, colours []byte, r *lzw.Reader) {
	if len(f.data) == 0 || f.data[0] < 2 || f.data[0] > 8 {
		return
	}
	if f.colours != nil {
		colours = f.colours
	}
	var palette [256]byte
	for i := range len(colours) / 3 {
		palette[i] = luminance(color.RGBA{colours[3*i], colours[3*i+1], colours[3*i+2], 0xff}.RGBA())
	}
	r.Reset(bufio.NewReaderSize(&gifBlocks{rest: f.data[1:]}, 256), lzw.LSB, int(f.data[0]))
	line := make([]byte, min(f.rect.Dx(), f.rect.Dx()*f.rect.Dy()))
	for i := range f.rect.Dy() {
		n, err := io.ReadFull(r, line)
		y := f.rect.Min.Y + f.row(i)
		for x, index := range line[:n] {
			if p := image.Pt(f.rect.Min.X+x, y); int(index) != f.transparent && p.In(m.Rect) {
				m.Pix[m.PixOffset(p.X, p.Y)] = palette[index]
			}
		}
		if err != nil {
			return
		}
	}
}

// row returns where the line with number i stands.
func (f gifFrame) row(i int) int {
	if !f.interlaced {
		return i
	}
	for _, pass := range []struct{ start, step int }{{0, 8}, {4, 8}, {2, 4}, {1, 2}} {
		lines := max(0, (f.rect.Dy()-pass.start+pass.step-1)/pass.step)
		if i < lines {
			return pass.start + i*pass.step
		}
		i -= lines
	}
	return 0
}

// gifBlocks reads the data in blocks.
type gifBlocks struct{ block, rest []byte }

func (b *gifBlocks) Read(p []byte) (int, error) {
	if len(b.block) == 0 {
		if len(b.rest) == 0 || b.rest[0] == 0 {
			return 0, io.EOF
		}
		end := min(len(b.rest), 1+int(b.rest[0]))
		b.block, b.rest = b.rest[1:end], b.rest[end:]
	}
	n := copy(p, b.block)
	b.block = b.block[n:]
	return n, nil
}
