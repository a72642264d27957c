//go:build figures

package replay

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// TestCutFigures reports the spam of each archive, and judges all its mail by its beginning, as mail without room
// is: how much of the spam is caught, and whether a cut makes ham spam. It prints the table of
// contrib/benchmarks.md: make bench-cut.
func TestCutFigures(t *testing.T) {
	shares := []float64{0.1, 0.3, 0.5, 0.7, 0.9, 1}
	for _, name := range []string{"spamassassin", "trec07p-part", "lists-part"} {
		var spam, ham []signature.Message
		var names []string
		eachOf(t, name, func(file string, m signature.Message) {
			if path.Base(path.Dir(file)) == "spam" {
				spam = append(spam, m)
			} else {
				ham, names = append(ham, m), append(names, file)
			}
		})
		db, err := bloomdb.Open(bloomdb.Options{Dir: t.TempDir(), Site: "a",
			Reports: bloomdb.ReportOptions{Capacity: int64(4 * len(spam))}, Counts: bloomdb.CountOptions{Capacity: 1000}})
		testenv.Check(t, err)
		for _, m := range spam {
			if set := signature.Compute(m); len(set.Signatures) > 0 {
				testenv.Check(t, db.Report(set, bloomdb.ClassOther))
			}
		}
		caught, hit := make([]int, len(shares)), make([]int, len(shares))
		for i, share := range shares {
			for _, m := range spam {
				if db.Judge(beginning(m, share)).Listed {
					caught[i]++
				}
			}
			for j, m := range ham {
				if !db.Judge(beginning(m, share)).Listed {
					continue
				}
				if hit[i]++; !db.Judge(signature.Compute(m)).Listed {
					t.Logf("%s is spam by its first %g, but not whole", names[j], share)
				}
			}
		}
		var row strings.Builder
		for i := range shares {
			fmt.Fprintf(&row, " | %.1f", 100*float64(caught[i])/float64(len(spam)))
		}
		t.Logf("%s | %d%s | %d, %v", name, len(spam), row.String(), len(ham), hit)
		testenv.Check(t, db.Close())
	}
}

// beginning signs a share of the body.
func beginning(m signature.Message, share float64) signature.Set {
	if share < 1 {
		m.Truncated = true
		m.Body = m.Body[:int(share*float64(len(m.Body)))]
	}
	return signature.Compute(m)
}
