//go:build figures

package replay

import (
	"context"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestCampaignFigures prints the table about campaigns of contrib/benchmarks.md: what learning costs
// where one spam in ten is reported, and every spam proves the domain of its From.
func TestCampaignFigures(t *testing.T) {
	t.Logf("| archive | learning | spam caught, of | ham hit, of |\n")
	for _, name := range archiveNames {
		t.Run(name, func(t *testing.T) {
			all := readArchive(t, name)
			for _, clock := range []bool{true, false} {
				row := name + map[bool]string{true: ", with the clock", false: ""}[clock]
				if clock && name != "lists-part" && name != "phishing-part" { // the others' mail is not in the order of its time
					continue
				}
				rare(t, row+" | off", all, Options{NoCommonness: true, Clock: clock})
				rare(t, row+" | on, spam proves nothing", all, Options{Clock: clock})
				rare(t, row+" | on, spam proves its domains", all, Options{Clock: clock, allProven: true})
			}
		})
	}
}

// rare prints a row of an archive of which one spam in ten is reported.
func rare(t *testing.T, row string, messages []Message, o Options) {
	dir, remove := stateFolder(t)
	defer remove()
	o.Dir, o.Sites, o.ReportShare, o.Seed = dir, 1, 0.1, 1
	r, err := RunKeys(context.Background(), messages, o, federations, func() {})
	testenv.Check(t, err)
	tally(t, row, r)
}
