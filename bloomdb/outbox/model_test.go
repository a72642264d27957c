package outbox_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// cellSet is a set of cells of several filters.
type cellSet map[layout.Target]map[uint64]bool

func (s cellSet) add(t layout.Target, cells []filter.Cell) {
	if s[t] == nil {
		s[t] = make(map[uint64]bool)
	}
	for _, c := range cells {
		s[t][c.Pos] = true
	}
}

// publisher is a site, with its stream and its snapshot in Redis.
type publisher struct {
	*rapid.T
	dir     string
	clock   *keyspacetest.Clock
	ks      *keyspace.Keyspace
	numbers map[[2]uint64][]byte // every delta ever sent, by epoch and number
	stream  []wire.Delta
	reports int

	inStream, inSnapshot cellSet // what other sites can read
}

func (p *publisher) open() {
	p.ks = keyspace.New(keyspacetest.Config(p.dir, "a", p.clock.Now))
	if err := p.ks.Load(); err != nil {
		p.Fatal(err)
	}
	p.resume()
}

// end returns the end of the stream.
func (p *publisher) end() (epoch, seq uint64) {
	if len(p.stream) == 0 {
		return 0, 0
	}
	last := p.stream[len(p.stream)-1]
	return last.Epoch, last.Seq
}

func (p *publisher) resume() {
	if err := p.ks.Outbox.Resume(p.end()); err != nil {
		p.Fatal(err)
	}
}

// send appends a delta to the stream. A number has one content only.
func (p *publisher) send(d wire.Delta) {
	name := [2]uint64{d.Epoch, d.Seq}
	if sent, ok := p.numbers[name]; ok && !slices.Equal(sent, d.Data) {
		p.Fatalf("number %d-%d was assigned twice", d.Epoch, d.Seq)
	}
	if epoch, seq := p.end(); d.Epoch < epoch || d.Epoch == epoch && d.Seq <= seq {
		if p.numbers[name] == nil {
			p.Fatalf("delta %d-%d after %d-%d", d.Epoch, d.Seq, epoch, seq)
		}
		return // Redis rejects an entry that it has
	}
	p.numbers[name] = d.Data
	p.stream = append(p.stream, d)
	body, err := p.ks.Sealer.DecodeDelta(d.Data)
	if err != nil {
		p.Fatal(err)
	}
	for _, s := range body.Sections {
		p.inStream.add(s.Target, s.Cells)
	}
}

// eachOwnCell calls f with the cells of this site's own filters.
func (p *publisher) eachOwnCell(f func(t layout.Target, cells []filter.Cell)) {
	for sec := range p.ks.Store.OwnSections() {
		for i := range sec.Shape.Blocks(sec.Target.Kind) {
			f(sec.Target, sec.Block(i, nil))
		}
	}
}

// snapshot publishes a snapshot.
func (p *publisher) snapshot() {
	w := p.ks.Outbox.NewSnapshot()
	p.inSnapshot = make(cellSet)
	p.eachOwnCell(p.inSnapshot.add)
	if err := p.ks.Outbox.SnapshotPublished(w); err != nil {
		p.Fatal(err)
	}
}

// Crashes, lost answers, and lost streams in any order: no number is assigned twice, and in the end
// other sites can read all changes, or a snapshot is due.
func TestPublishModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &publisher{T: rt, dir: t.TempDir(), clock: keyspacetest.NewClock(),
			numbers: make(map[[2]uint64][]byte), inStream: make(cellSet), inSnapshot: make(cellSet)}
		p.open()
		rt.Repeat(map[string]func(*rapid.T){
			"report": func(*rapid.T) {
				p.reports++
				if err := keyspacetest.Report(p.ks, layout.SpamFilter, keyspacetest.Message(p.reports)); err != nil {
					p.Fatal(err)
				}
			},
			"revoke": func(rt *rapid.T) {
				if err := keyspacetest.Report(p.ks, layout.RevokedFilter, keyspacetest.Message(rapid.IntRange(1, 9).Draw(rt, "message"))); err != nil {
					p.Fatal(err)
				}
			},
			"publish": func(rt *rapid.T) {
				d, ok, err := p.ks.Outbox.NextDelta(rapid.Bool().Draw(rt, "all"))
				if err != nil {
					p.Fatal(err)
				}
				if !ok || rapid.Bool().Draw(rt, "not sent") {
					return
				}
				p.send(d)
				if rapid.Bool().Draw(rt, "answered") {
					if err := p.ks.Outbox.Published(d); err != nil {
						p.Fatal(err)
					}
				}
			},
			"reconnect":   func(*rapid.T) { p.resume() },
			"lose stream": func(*rapid.T) { p.stream, p.inStream = nil, make(cellSet); p.resume() },
			"snapshot":    func(*rapid.T) { p.snapshot() },
			"save": func(*rapid.T) {
				if err := p.ks.Save(); err != nil {
					p.Fatal(err)
				}
			},
			"crash": func(*rapid.T) { p.open() },
		})
		p.resume()
		for {
			d, ok, err := p.ks.Outbox.NextDelta(true)
			if err != nil {
				p.Fatal(err)
			}
			if !ok {
				break
			}
			p.send(d)
			if err := p.ks.Outbox.Published(d); err != nil {
				p.Fatal(err)
			}
		}
		if p.ks.Outbox.SnapshotDue() {
			p.snapshot()
		}
		p.eachOwnCell(func(t layout.Target, cells []filter.Cell) {
			for _, c := range cells {
				if !p.inStream[t][c.Pos] && !p.inSnapshot[t][c.Pos] {
					p.Fatalf("%s generation %d: cell %d cannot be read, and no snapshot was due", t.Kind, t.Gen, c.Pos)
				}
			}
		})
	})
}
