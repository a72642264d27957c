package bloomdb_test

import (
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// BenchmarkMute mutes one of four sites that have filled a generation of default capacity, and
// restores it.
func BenchmarkMute(b *testing.B) {
	db := bloomdbtest.Open(b, bloomdb.Options{Dir: b.TempDir(), Site: "a", Key: bloomdbtest.Key, Now: bloomdbtest.NewClock().Now})
	t := current(db, layout.SpamFilter)
	r := rand.New(rand.NewPCG(1, 2))
	keys := int(bloomdbtest.SettingsOf(db).KeysPerGeneration()) / 4
	for _, site := range []string{"b", "c", "d", "e"} {
		scratch, err := filter.NewBits(bloomdbtest.SettingsOf(db).SpamShape())
		testenv.Check(b, err)
		for range keys {
			scratch.Set(randomHash(r))
		}
		testenv.Check(b, fillPart(partOf(b, db, site, t, layout.BitsShape(scratch.Shape())).Part, scratch))
		db.Keyspace().Peers.Restore(layout.Origin{Site: site, Epoch: 2}, 1, 0, 0)
	}
	b.Logf("%d keys of each of 4 sites, filter of %d MiB", keys, bloomdbtest.SettingsOf(db).SpamShape().Bytes()>>20)
	for _, tc := range []struct {
		name string
		on   bool
	}{{"mute", true}, {"unmute", false}} {
		b.Run(tc.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				testenv.Check(b, db.Mute("b", !tc.on))
				b.StartTimer()
				testenv.Check(b, db.Mute("b", tc.on))
			}
		})
	}
}
