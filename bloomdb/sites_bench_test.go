package bloomdb

import (
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// BenchmarkMute takes one of four sites out of a generation of default capacity that
// the four have filled, and gives it its say back.
func BenchmarkMute(b *testing.B) {
	db := openTest(b, Options{Dir: b.TempDir(), Site: "a", Key: testKey, Now: newClock().Now})
	t := layout.Target{Kind: layout.SpamFilter, Gen: db.ks.Settings.Generation(layout.SpamFilter, db.ks.Settings.Now())}
	r := rand.New(rand.NewPCG(1, 2))
	keys := int(db.ks.Settings.KeysPerGeneration()) / 4
	for _, site := range []string{"b", "c", "d", "e"} {
		scratch, err := filter.NewBits(db.ks.Store.SpamShape)
		if err != nil {
			b.Fatal(err)
		}
		for range keys {
			scratch.Set(randomHash(r))
		}
		p, err := db.ks.Store.PartFor(layout.Origin{Site: site, Epoch: 2}, t, layout.BitsShape(db.ks.Store.SpamShape))
		if err != nil {
			b.Fatal(err)
		}
		for i := range filter.Blocks(scratch.Shape().Size(), false) {
			if err := p.Merge(scratch.Block(i, nil)); err != nil {
				b.Fatal(err)
			}
		}
		db.ks.Peers.Restore(layout.Origin{Site: site, Epoch: 2}, 1, 0, 0)
	}
	b.Logf("%d keys of each of 4 sites, filter of %d MiB", keys, db.ks.Store.SpamShape.Bytes()>>20)
	for _, tc := range []struct {
		name string
		on   bool
	}{{"mute", true}, {"unmute", false}} {
		b.Run(tc.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				if err := db.Mute("b", !tc.on); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := db.Mute("b", tc.on); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
