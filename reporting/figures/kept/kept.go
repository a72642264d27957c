// Package kept reads the counters that are kept by hour from the metrics of the daemon.
package kept

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/reporting/figures"
)

// maxEach bounds the counters of a Count with Each.
const maxEach = 32

// Read returns the current values of the kept counters, by key. Counters that are zero may
// be absent.
func Read(from prometheus.Gatherer) (map[string]float64, error) {
	families, err := from.Gather()
	values := make(map[string]float64)
	for _, f := range families {
		for _, c := range figures.Kept {
			if c.Metric != f.GetName() {
				continue
			}
			each := 0
			for _, m := range f.GetMetric() {
				labels := make(map[string]string, len(m.GetLabel()))
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if !selects(c, labels) {
					continue
				}
				key := c.Key
				if c.Each != "" {
					if each++; each > maxEach {
						break
					}
					key += ":" + labels[c.Each]
				}
				values[key] += m.GetCounter().GetValue()
			}
		}
	}
	return values, err
}

func selects(c figures.Count, labels map[string]string) bool {
	for name, value := range c.Where {
		if labels[name] != value {
			return false
		}
	}
	return true
}
