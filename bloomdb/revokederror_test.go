package bloomdb_test

import (
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The largest expected number of ten million reported signatures that are lost to revocation
// filters which are as full as planned, whatever the options.
const (
	asked    = 10_000_000
	mostLost = 0.001
)

func TestRevocationFiltersLoseNoReport(t *testing.T) {
	for _, o := range []layout.ReportOptions{
		{}, {Capacity: 1000}, {Capacity: 20_000_000}, {Keep: 1}, {Keep: 64, Period: 24 * time.Hour},
		{KeysPerMessage: 1}, {MaxErrorPerMail: 0.5}, {MaxErrorPerMail: 1e-12},
	} {
		all := bloomdb.Options{Dir: "x", Site: "mx1", Reports: o}
		layout.SetDefaults(&all.Reports, &all.Counts, &all.Domains)
		filters := float64(2 * all.Reports.Keep) // this site's and those of all others
		lost := asked * filters * bloomdbtest.Settings(all).RevokedShape().Error(bloomdbtest.Settings(all).KeysPerGeneration()/layout.RevokedShare)
		if lost > mostLost {
			t.Errorf("%+v: of %d reported signatures, %.3g are lost, at most %g", o, asked, lost, mostLost)
		}
	}
}

// The same with full filters: those of this site and of others in each kept generation. The
// number of lost signatures is measured, computed from the bits, and not above the plan. In a
// soak the test runs at the default size and for all ten million, otherwise at a tenth of both,
// and for every eighth under the race detector.
func TestFullRevocationFiltersLoseNoReport(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	scale := 10
	if testenv.Soak() {
		scale = 1
	}
	o := withoutExchange(bloomdbtest.Options(t.TempDir(), "mx1"))
	o.Reports.Capacity = int64(1_000_000 / scale)
	db := bloomdbtest.Open(t, o)
	revoked, expected := fillRevoked(t, db)
	lost := 0
	began := time.Now()
	kept := reports(db)
	for n := uint64(0); n < uint64(asked/scale); n += uint64(stride) {
		h := keyring.Stretch(filter.Mix(n ^ 0x5eed))
		for _, g := range kept {
			if g.Revoked.Has(h) {
				lost++
				break
			}
		}
	}
	t.Logf("%d signatures, %d generations with %d revoked in all: %d lost, %.2g expected from the bits; %.0f ns each",
		asked/scale/stride, len(kept), revoked, lost, expected*asked, float64(time.Since(began).Nanoseconds())*float64(scale*stride)/asked)
	if lost > 0 || expected*asked > 1.2*mostLost || expected == 0 {
		t.Errorf("%d of %d are lost; of %d, %.3g in expectation, at most %g", lost, asked/scale/stride, asked, expected*asked, mostLost)
	}
	crash(t, db) // the joined bits were set without a part
	comparePlain(t, revoked/(2*bloomdbtest.SettingsOf(db).Reports.Keep), scale)
}

// fillRevoked fills the revocation filters of all kept generations. It returns the number of
// keys in them, and the chance that they contain another key.
func fillRevoked(t *testing.T, db *bloomdb.DB) (keys int, chance float64) {
	t.Helper()
	newest := bloomdbtest.SettingsOf(db).Generation(layout.RevokedFilter, db.Now())
	for gen := newest - int64(bloomdbtest.SettingsOf(db).Reports.Keep) + 1; gen <= newest; gen++ {
		tg := layout.Target{Kind: layout.RevokedFilter, Gen: gen}
		own, part := ownBits(t, db, tg), partOf(t, db, "other", tg, layout.BitsShape(bloomdbtest.SettingsOf(db).RevokedShape()))
		for i, b := range []*filter.Bits{own, part.Others} {
			for ; b.Ones() <= bloomdbtest.SettingsOf(db).FillLimit(layout.RevokedFilter, b.Shape()); keys++ {
				b.Set(keyring.Stretch(filter.Mix(uint64(gen)<<40 ^ uint64(i)<<36 ^ uint64(keys))))
			}
			chance += b.Error()
		}
	}
	return keys, chance
}

// comparePlain measures the loss to a plain Bloom filter of 16 bits a key, with 8 bits for each
// key.
func comparePlain(t *testing.T, keys, scale int) {
	t.Helper()
	plain := make([]bool, 16*keys)
	at := func(n uint64) (positions [8]uint64) {
		for i := range positions {
			n = filter.Mix(n + 0x9e3779b97f4a7c15)
			positions[i], _ = bits.Mul64(n, uint64(len(plain)))
		}
		return positions
	}
	for n := range uint64(keys) {
		for _, pos := range at(filter.Mix(n)) {
			plain[pos] = true
		}
	}
	lost := 0
	for n := range uint64(asked / scale) {
		positions := at(filter.Mix(n ^ 0x5eed0000000000))
		if !slices.ContainsFunc(positions[:], func(pos uint64) bool { return !plain[pos] }) {
			lost++
		}
	}
	t.Logf("one plain filter of 16 bits a key, %d keys: %d lost of %d", keys, lost, asked/scale)
	if scaled := lost * scale; scaled < 5000 || scaled > 6500 {
		t.Errorf("to a plain filter %d of %d are lost, should be about 5,700", scaled, asked)
	}
}
