package filter

import "sync"

// fitted has what Fit found. A search takes longer than applying a small delta, and a database
// asks for the same few shapes at each one.
var fitted fits

// maxFits bounds the memory. Programs have a few shapes; the experiments of a laboratory have more.
const maxFits = 256

// fitting is a call of Fit, with no lines in the shape.
type fitting struct {
	shape     BitsShape
	n, target float64
}

// fits has the lines of calls of Fit. It is safe for concurrent use.
type fits struct {
	mu    sync.Mutex
	lines map[fitting]uint64
}

func (f *fits) get(of fitting) (lines uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines, ok = f.lines[of]
	return lines, ok
}

// put forgets all others when there are too many.
func (f *fits) put(of fitting, lines uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines == nil || len(f.lines) >= maxFits {
		f.lines = make(map[fitting]uint64)
	}
	f.lines[of] = lines
}
