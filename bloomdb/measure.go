package bloomdb

import (
	"maps"
	"sync"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// measurements are the errors of filters, as they were measured last: to measure one reads
// all of it. They are safe for concurrent use.
type measurements struct {
	mu      sync.Mutex // guards all below
	filters map[measuredFilter]measuredError
	parts   map[measuredPart]measuredError
}

// measuredFilter names a bit filter.
type measuredFilter struct {
	target target
	own    bool
}

// measuredPart names a site's part.
type measuredPart struct {
	target target
	origin origin
}

// measuredError is what was measured when the filter had so many ones.
type measuredError struct {
	ones  int64
	error float64
}

func newMeasurements() *measurements {
	return &measurements{filters: make(map[measuredFilter]measuredError), parts: make(map[measuredPart]measuredError)}
}

// filter returns the error of a filter. It is measured again when the filter has changed.
func (m *measurements) filter(name measuredFilter, b *filter.Bits) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.filters[name]
	if ones := b.Ones(); !ok || known.ones != ones {
		known = measuredError{ones, b.Error()}
		m.filters[name] = known
	}
	return known.error
}

// part returns the error of a part of a spam filter. It is measured again when the part has
// grown by a hundredth.
func (m *measurements) part(t target, p sitePart) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, cells := measuredPart{t, p.origin}, p.part.Cells()
	known, ok := m.parts[name]
	if grown := cells - known.ones; !ok || grown < 0 || grown > known.ones/100 {
		known = measuredError{cells, p.part.Error(p.shape.bits())}
		m.parts[name] = known
	}
	return known.error
}

// expire forgets generations that have expired.
func (m *measurements) expire(aged func(target) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.filters, func(name measuredFilter, _ measuredError) bool { return aged(name.target) })
	maps.DeleteFunc(m.parts, func(name measuredPart, _ measuredError) bool { return aged(name.target) })
}

// forgetJoined forgets the joined bits of a generation.
func (m *measurements) forgetJoined(t target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.filters, measuredFilter{t, false})
}

// forgetSite forgets the parts of a site.
func (m *measurements) forgetSite(site string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.parts, func(name measuredPart, _ measuredError) bool { return name.origin.site == site })
}
