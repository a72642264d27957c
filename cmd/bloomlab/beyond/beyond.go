// Package beyond has experiments that are in no paper: the error of the classic filter
// and of the blocked layouts at equal memory (layout), the cost of different merges of
// counting filters (merge), the bits per cell in each store for the counts of mail
// (split), the effort to have a chosen message listed with public and with keyed
// hashes (framing), and what reports and revocations of one message in turn cost (ladder).
package beyond

import "github.com/spambloom/spambloom/cmd/bloomlab/lab"

// Experiments returns all experiments of the package.
func Experiments() []lab.Experiment {
	return []lab.Experiment{layout(), merge(), split(), framing(), ladder()}
}
