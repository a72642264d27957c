//go:build figures

package replay

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// TestNewSiteFigures prints the table about archives at a new site of contrib/benchmarks.md.
func TestNewSiteFigures(t *testing.T) {
	t.Logf("| archive | senders | spam caught, of | ham hit, of |\n")
	for _, name := range archiveNames {
		t.Run(name, func(t *testing.T) {
			all := readArchive(t, name)
			measure(t, name+" | learning off", all, Options{NoCommonness: true})
			measure(t, name+" | none proven", all, Options{noneProven: true})
			measure(t, name+" | ham proven", all, Options{})
			measure(t, name+" | all proven", all, Options{allProven: true})
		})
	}
}

// providers send notices that are in the ham of TREC 2007.
var providers = []string{"cbsig.com", "accuweather.com", "shareholder.com", "cnn.com"}

// TestNoticeFigures prints what happens to real notices of one provider after reports of phish that
// copies a part of their words.
func TestNoticeFigures(t *testing.T) {
	notices := make(map[string][]signature.Message)
	eachOf(t, "trec07p-part", func(file string, m signature.Message) {
		if path.Base(path.Dir(file)) == "ham" && len(strings.Fields(signature.Text(m))) >= 40 {
			notices[FromOf(m)] = append(notices[FromOf(m)], m)
		}
	})
	t.Logf("| notices of | words copied | hit, learning off | new site, proven | not proven | known sender | not proven | variations caught |\n")
	for _, from := range providers {
		for _, share := range []int{10, 30, 60, 90} {
			n := &noticeRun{from: from, share: share, notices: notices[from]}
			off, fresh, known := n.run(t, bloomdb.ReportOptions{NoCommonness: true}, false), n.run(t, bloomdb.ReportOptions{}, false), n.run(t, bloomdb.ReportOptions{}, true)
			t.Logf("| %s | %d %% | %d of %d | %d | %d | %d | %d | %d, %d, %d of %d |", from, share, off.unproven, off.judged,
				fresh.proven, fresh.unproven, known.proven, known.unproven, off.caught, fresh.caught, known.caught, off.phish)
		}
	}
}

// noticeRun reports phish with a share of the words of notices, the last ones.
type noticeRun struct {
	from    string
	share   int
	notices []signature.Message
}

type noticesHit struct{ judged, proven, unproven, phish, caught int }

// run judges the second half of the notices, after every fifth of the first half was copied. The first
// half arrives before if the sender is known.
func (n *noticeRun) run(t *testing.T, o bloomdb.ReportOptions, isKnown bool) (hit noticesHit) {
	dir, remove := stateFolder(t)
	defer remove()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	o.Capacity = 1000
	db, err := bloomdb.Open(bloomdb.Options{Dir: dir, Site: "a", Reports: o, Counts: bloomdb.CountOptions{Capacity: 1000}, Now: func() time.Time { return now }})
	testenv.Check(t, err)
	defer func() { testenv.Check(t, db.Close()) }()
	sender, half := bloomdb.Sender{From: n.from}, len(n.notices)/2
	for i, m := range n.notices[:half] {
		if isKnown {
			set := signature.Compute(m)
			db.Learn(set, sender, db.JudgeFrom(set, sender), now.Add(time.Duration(i)*time.Hour))
			now = now.Add(12 * time.Hour)
		}
	}
	for i := 0; i < half; i += 5 {
		words := strings.Fields(signature.Text(n.notices[i]))
		phish := func(changed string) signature.Set {
			own := []string{changed}
			for k := range 40 {
				own = append(own, fmt.Sprintf("wyr%cque%cdol%ctam%c", 'a'+i%26, 'a'+k%26, 'a'+k/26, 'a'+n.share%26))
			}
			return signature.Compute(signature.Parse([]byte("From: a@b.example\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" +
				strings.Join(append(own, words[len(words)*(100-n.share)/100:]...), " ") + "\r\n")))
		}
		testenv.Check(t, db.Report(phish("first"), 0))
		if hit.phish++; db.Judge(phish("second")).Listed {
			hit.caught++
		}
	}
	for _, m := range n.notices[half:] {
		set := signature.Compute(m)
		if hit.judged++; db.Judge(set).Listed {
			hit.unproven++
		}
		if db.JudgeFrom(set, sender).Listed {
			hit.proven++
		}
	}
	return hit
}
