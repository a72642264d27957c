// Package replica measures how many varied copies of a reported spam are recognised, by
// kind of variation, and how much innocent mail is hit. It owns the choice of messages,
// the judging and the figures. Package variation makes the copies.
//
//	corpus -> choose -> for each spam, in a database of its own:
//	                      Report(original); Judge(copy of each kind) -> Row
//	                 -> all of them in one database: Judge(ham) -> Summary
package replica

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/bloomlab/variation"
	"github.com/spambloom/spambloom/signature"
)

// MinWords is the least number of words of a chosen spam. With fewer words it has too
// little text for the variations.
const MinWords = 50

// Options configure a run.
type Options struct {
	Messages int    // spams that are reported; where the corpus has fewer, all
	Seed     uint64 // of the choice and of all copies
	Kinds    []variation.Kind
	Together bool // all originals are reported before a copy is judged
	Progress func(messages int)
}

// Row is the result for one kind of variation.
type Row struct {
	Kind   string  `json:"kind"`
	Copies int     `json:"copies"` // messages that the kind could vary
	Caught int     `json:"caught"`
	Rival  int     `json:"min_hash"`      // that plain min-hashing would catch, see minHash
	Pages  int     `json:"page_min_hash"` // that min-hashing of the page's structure would catch, see structureOf
	Rate   float64 `json:"percent"`
	Peer   string  `json:"peer_percent,omitempty"`
	Aim    float64 `json:"aim_percent,omitempty"` // 0: none
	// By counts the copies that each kind of signature caught, alone or with others.
	By map[string]int `json:"by"`
}

// Missed reports whether the row is below its aim.
func (r Row) Missed() bool { return r.Aim > 0 && r.Copies > 0 && r.Rate < r.Aim }

// Summary is the result for all kinds together.
type Summary struct {
	Reported int      `json:"reported"`
	Ham      int      `json:"ham"`
	HamHits  []string `json:"ham_hits"` // names, with what matched
	// Memory is what the filters of reports take for each message of their capacity, in
	// bytes, all generations together; those of revocations, an eighth of it, are not
	// made here. Sketches is the part of it that the near-duplicates take.
	Memory   float64 `json:"memory_bytes_per_message"`
	Sketches float64 `json:"sketch_bytes_per_message"`
	// P50 and P95 of the time in which a copy is parsed, signed and judged.
	P50 time.Duration `json:"p50_ns"`
	P95 time.Duration `json:"p95_ns"`
}

// Run reports the originals and judges the copies. It keeps its databases in a
// temporary folder, which it removes.
func Run(ctx context.Context, c *Corpus, o Options) ([]Row, Summary, error) {
	dir, err := os.MkdirTemp("", "bloomlab-")
	if err != nil {
		return nil, Summary{}, err
	}
	defer os.RemoveAll(dir)
	b := &bench{Options: o, from: c.material(), rows: make([]Row, len(o.Kinds))}
	for i, k := range o.Kinds {
		b.rows[i] = Row{Kind: k.Name, Peer: k.Peer, Aim: k.Aim, By: map[string]int{}}
	}
	spams := c.choose(o.Messages, o.Seed)
	all, err := openDatabase(filepath.Join(dir, "all"), 1_000_000)
	if err != nil {
		return nil, Summary{}, err
	}
	defer all.Close()
	for _, m := range spams {
		if err := all.Report(signature.Compute(signature.Parse(m.Raw)), bloomdb.ClassOther); err != nil {
			return nil, Summary{}, fmt.Errorf("report %s: %w", m.Name, err)
		}
	}
	s := Summary{Reported: len(spams), Ham: len(c.Ham), Memory: memoryPerMessage(all, "spam", "sketches", "domains"), Sketches: memoryPerMessage(all, "sketches")}
	for _, m := range c.Ham {
		if e := all.Judge(signature.Compute(signature.Parse(m.Raw))); e.Listed {
			s.HamHits = append(s.HamHits, fmt.Sprintf("%s %v", m.Name, slices.Sorted(maps.Keys(kindsOf(e)))))
		}
	}
	for i, m := range spams {
		if ctx.Err() != nil {
			return nil, Summary{}, ctx.Err()
		}
		if err := b.message(filepath.Join(dir, fmt.Sprint(i)), all, m); err != nil {
			return nil, Summary{}, fmt.Errorf("%s: %w", m.Name, err)
		}
		if o.Progress != nil {
			o.Progress(1)
		}
	}
	for i := range b.rows {
		b.rows[i].Rate = 100 * float64(b.rows[i].Caught) / float64(max(1, b.rows[i].Copies))
	}
	slices.Sort(b.times)
	s.P50, s.P95 = quantile(b.times, 0.50), quantile(b.times, 0.95)
	return b.rows, s, nil
}

// bench is a run in progress.
type bench struct {
	Options
	from  *variation.Material
	rows  []Row
	times []time.Duration
}

// message judges the copies of one spam. A kind that makes an original of its own
// reports it before its copy is judged.
func (b *bench) message(dir string, all *bloomdb.DB, m Message) error {
	db := all
	original := signature.Compute(signature.Parse(m.Raw))
	if !b.Together {
		var err error
		if db, err = openDatabase(dir, 1_000); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		defer db.Close()
		if err := db.Report(original, bloomdb.ClassOther); err != nil {
			return err
		}
	}
	for i, k := range b.Kinds {
		raw, copied, ok := k.Vary(b.Seed, b.from, m.Mail, m.Raw)
		if !ok {
			continue
		}
		if k.Rebuilt() {
			reported := signature.Compute(signature.Parse(raw))
			// An original with nothing to sign cannot be reported: its copy counts as missed.
			if len(reported.Signatures)+len(reported.Sketches) > 0 {
				if err := db.Report(reported, bloomdb.ClassOther); err != nil {
					return fmt.Errorf("report the original of %s: %w", k.Name, err)
				}
			}
		}
		b.judge(&b.rows[i], db, copied)
		if isMinHashMatch(textOf(raw), textOf(copied)) {
			b.rows[i].Rival++
		}
		if isMinHashMatch(structureOf(raw), structureOf(copied)) {
			b.rows[i].Pages++
		}
	}
	return nil
}

func (b *bench) judge(row *Row, db *bloomdb.DB, copied []byte) {
	start := time.Now()
	set := signature.Compute(signature.Parse(copied))
	e := db.Judge(set)
	b.times = append(b.times, time.Since(start))
	row.Copies++
	if !e.Listed {
		return
	}
	row.Caught++
	for kind := range kindsOf(e) {
		row.By[kind]++
	}
}

// kindsOf are the kinds of signature behind a listing.
func kindsOf(e bloomdb.Evidence) map[string]bool {
	kinds := map[string]bool{}
	for _, m := range e.Matches {
		if !m.Revoked {
			kinds[m.Signature.Kind.String()] = true
		}
	}
	return kinds
}

func openDatabase(dir string, capacity int64) (*bloomdb.DB, error) {
	return bloomdb.Open(bloomdb.Options{Dir: dir, Site: "lab",
		Reports: bloomdb.ReportOptions{Capacity: capacity},
		Counts:  bloomdb.CountOptions{Capacity: 1_000}})
}

// memoryPerMessage sums filters of these kinds; the generation of today is one of five.
func memoryPerMessage(db *bloomdb.DB, kinds ...string) float64 {
	total := int64(0)
	for _, f := range db.Status().Filters {
		if slices.Contains(kinds, f.Kind) {
			total += f.Memory
		}
	}
	const keep, capacity = 5, 1_000_000
	return float64(total) * keep / capacity
}

// quantile of a sorted list; 0 of an empty one.
func quantile[T any](sorted []T, q float64) T {
	var none T
	if len(sorted) == 0 {
		return none
	}
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// choose takes spams at random among those with enough text, in the corpus' order.
func (c *Corpus) choose(n int, seed uint64) []Message {
	var enough []Message
	for _, m := range c.Spams {
		if m.Mail != nil && m.Mail.Words() >= MinWords && signature.Text(signature.Parse(m.Raw)) != "" {
			enough = append(enough, m)
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	chosen := r.Perm(len(enough))[:min(n, len(enough))]
	slices.Sort(chosen)
	var list []Message
	for _, i := range chosen {
		list = append(list, enough[i])
	}
	return list
}
