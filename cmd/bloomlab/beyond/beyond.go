// Package beyond has the experiments that no paper has: the error of the classic
// filter and of the blocked layouts at equal memory (layout), what the ways to
// merge counting filters cost (merge), how many bits a cell takes in each store for the
// counts that mail has (split), and what it takes to have a chosen message listed
// with public and with keyed hashes (framing).
package beyond

import "github.com/spambloom/spambloom/cmd/bloomlab/lab"

// Experiments are all of them.
func Experiments() []lab.Experiment {
	return []lab.Experiment{layout(), merge(), split(), framing()}
}
