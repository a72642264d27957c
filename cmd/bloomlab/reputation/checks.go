package reputation

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// mistakesTrial compares the world with a computed value: without liars and at quorum 1,
// a wanted mail is listed at least once unless none of its readers reports it.
func mistakesTrial() lab.Trial {
	const name = "0 % lie, quorum 1 of equals: wanted mails ever listed"
	s := scenario{users: users, days: days, mix: usual}
	cell := lab.Cell{Name: name + ", less computed", Paper: lab.None, Tolerance: lab.StandardErrors, Why: lab.WhySigmas}
	return lab.Trial{Most: worlds, Cells: []lab.Cell{shown(name), cell.Expect(0)}, New: func(*rand.Rand) lab.Round {
		return func(r *rand.Rand, out []float64) {
			d := draw(r.Uint64(), s)
			way := equals(1)
			w := lab.Must(d.run(newTally(way.model, way.rules).enter, way.need()))
			listed, computed := 0.0, 0.0
			for _, m := range d.read() {
				computed += 1 - m.refrain
				if w.shelf[m.keys[0]].listed > 0 {
					listed++
				}
			}
			out[0], out[1] = listed, listed-computed
		}
	}}
}

// readMessage is a wanted mail whose copies were all read in time. refrain is the chance
// that none of its readers reports it.
type readMessage struct {
	*message
	refrain float64
	last    float64 // hour of the last copy
}

func (d drawn) read() []readMessage {
	var all []readMessage
	at := map[*message]int{}
	for _, c := range d.mail {
		if c.msg.spam {
			continue
		}
		i, ok := at[c.msg]
		if !ok {
			i = len(all)
			at[c.msg], all = i, append(all, readMessage{c.msg, 1, 0})
		}
		all[i].refrain *= 1 - d.reporters[c.to].reports*mistakes
		all[i].last = c.at
	}
	end := float64(d.weeks)*7*hoursADay - 3*hoursADay
	return slices.DeleteFunc(all, func(m readMessage) bool { return m.last > end })
}

// ledgerTrial decides one small world with the ledger and with the tally, and compares.
func ledgerTrial() lab.Trial {
	s := scenario{users: 200, days: 21, liars: 0.3, mix: usual}
	way := settled(2)
	way.model.Newcomer = 0.7
	cells := []lab.Cell{shown("ledger and tally: words"), never("ledger and tally: decisions that differ"), never("ledger and tally: reporters whose weights differ")}
	return lab.Trial{Most: 1, Cells: cells, New: func(*rand.Rand) lab.Round {
		return func(r *rand.Rand, out []float64) {
			folder := lab.Must(os.MkdirTemp("", "bloomlab"))
			defer os.RemoveAll(folder)
			l := lab.Must(ledger.Open(ledger.Options{Path: filepath.Join(folder, "reports.db"), Model: way.model, NoSync: true}))
			defer l.Close()
			t := newTally(way.model, way.rules)
			byLedger, differ := enterLedger(l), 0.0
			w := lab.Must(draw(r.Uint64(), s).run(func(x word) (decision, error) {
				d, err := byLedger(x)
				if same, _ := t.enter(x); !slices.Equal(d.list, same.list) || !slices.Equal(d.revoke, same.revoke) {
					differ++
				}
				return d, err
			}, way.need()))
			out[0], out[1], out[2] = float64(w.words), differ, weightsThatDiffer(l, t)
		}
	}}
}

func weightsThatDiffer(l *ledger.Ledger, t *tally) (n float64) {
	now := epoch.Add(100 * 24 * time.Hour)
	all := lab.Must(l.Reporters("", 1<<20, now))
	if len(all) != len(t.reporters) {
		n++
	}
	for _, r := range all {
		if mine := t.reporters[r.Name]; mine == nil || t.weigh(*mine, now) != weight(r.Weight) {
			n++
		}
	}
	return n
}
