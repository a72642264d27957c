package store

import (
	"maps"
	"sync"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// measurements caches the measured errors of filters, since measuring reads the whole filter.
// It is safe for concurrent use.
type measurements struct {
	mu      sync.Mutex // guards all below
	filters map[MeasuredFilter]measuredError
	parts   map[measuredPart]measuredError
}

// MeasuredFilter identifies a bit filter.
type MeasuredFilter struct {
	Target layout.Target
	Own    bool
}

// measuredPart identifies a site's part.
type measuredPart struct {
	target layout.Target
	origin layout.Origin
}

// measuredError is the error that was measured when the filter had so many ones.
type measuredError struct {
	ones  int64
	error float64
}

func newMeasurements() *measurements {
	return &measurements{filters: make(map[MeasuredFilter]measuredError), parts: make(map[measuredPart]measuredError)}
}

// Filter returns the error of a filter. It measures again after the filter has changed.
func (m *measurements) Filter(name MeasuredFilter, b *filter.Bits) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.filters[name]
	if ones := b.Ones(); !ok || known.ones != ones {
		known = measuredError{ones, b.Error()}
		m.filters[name] = known
	}
	return known.error
}

// Part returns the error of a part of a spam filter. It measures again after the part has grown
// by a hundredth.
func (m *measurements) Part(t layout.Target, p SitePart) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, cells := measuredPart{t, p.Origin}, p.Part.Cells()
	known, ok := m.parts[name]
	if grown := cells - known.ones; !ok || grown < 0 || grown > known.ones/100 {
		known = measuredError{cells, p.Part.Error(p.Shape.Bits())}
		m.parts[name] = known
	}
	return known.error
}

// Expire forgets expired generations.
func (m *measurements) Expire(expired func(layout.Target) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.filters, func(name MeasuredFilter, _ measuredError) bool { return expired(name.Target) })
	maps.DeleteFunc(m.parts, func(name measuredPart, _ measuredError) bool { return expired(name.target) })
}

// forgetJoined forgets the joined bits of a generation.
func (m *measurements) forgetJoined(t layout.Target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.filters, MeasuredFilter{t, false})
}

// ForgetSite forgets the parts of a site.
func (m *measurements) ForgetSite(site string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.parts, func(name measuredPart, _ measuredError) bool { return name.origin.Site == site })
}
