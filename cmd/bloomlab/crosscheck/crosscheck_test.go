package crosscheck

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const seed = 20140701

// The experiments at MAE-WEST's sizes, as they are.
func TestExperiments(t *testing.T) {
	for _, e := range Experiments() {
		if e.Name != "crosscheck-table3" && e.Name != "crosscheck-table5" {
			continue
		}
		rows := labtest.Run(t, e, lab.Options{Rounds: 2, Seed: seed})
		figures := e.Figures(rows)
		if len(figures) != 1 || len(figures[0].Series) != 9 {
			t.Fatalf("%s: figures %v", e.Name, figures)
		}
	}
}

// Those at Telstra's with a fortieth of the keys and queries: the equations hold
// for any size. What is computed, such as the memory, is that of the real ones.
func TestExperimentsOfTelstra(t *testing.T) {
	for _, table := range tables {
		if table.name != telstra.name {
			continue
		}
		e := table.experiment()
		e.Trials, e.Derived = []lab.Trial{table.memoryTrial(), table.seedsTrial()}, nil
		if table.hash != "rand()" {
			e.Trials = e.Trials[:1]
		}
		labtest.Run(t, e, lab.Options{Rounds: 1, Seed: seed})
		table.keySet = keySet{name: "a fortieth of Telstra", a: telstra.a / 40, b: telstra.b / 40, queries: telstra.queries / 40}
		e = table.experiment()
		e.Trials, e.Derived = e.Trials[:1], nil
		labtest.Run(t, e, lab.Options{Rounds: 4, Seed: seed})
	}
}

// Every printed number that is more than four deviations away from the equations
// has a note, and the queries are as many as the note on them says.
func TestNotes(t *testing.T) {
	for _, table := range tables {
		for _, s := range table.rows {
			want := table.expected(s)
			if far := math.Abs(s.printed-want) > 4*math.Sqrt(want+0.5); far && s.note == "" {
				t.Errorf("table %d: %s: printed %v, the equations have %v, and there is no note", table.number, s.name(), s.printed, want)
			}
		}
	}
	if maeWest.queries != 7*(maeWest.keys(all)-1) || telstra.queries != 3*(telstra.keys(all)-1) {
		t.Error("the queries are not 7(n-1) and 3(n-1)")
	}
}

// Table 2, and rates worked by hand: k=3 of 4 bits a key is (1-e^(-3/4))^3.
func TestHashesAndRates(t *testing.T) {
	for multiple, k := range map[int]int{2: 1, 4: 3, 8: 6, 16: 11, 32: 22, 64: 44} {
		if hashes(multiple) != k {
			t.Errorf("M=%d: k is %d, want %d", multiple, hashes(multiple), k)
		}
	}
	f4, f8 := 0.146892, 0.0215771
	for _, c := range []struct {
		multiples []int
		want      float64
	}{{[]int{4}, f4}, {[]int{4, 8}, f4 * f8}, {[]int{4, 8, 4}, f4 * (f8 + f4 - f8*f4)}} {
		if got := tables[3].estimate(structure{multiples: c.multiples}).rate; math.Abs(got-c.want) > 1e-5*c.want {
			t.Errorf("%v: rate %v, want %v", c.multiples, got, c.want)
		}
	}
	for _, l := range layouts {
		bits, keys := l.main*1000, 0
		for _, share := range l.shares(1000) {
			bits, keys = bits+l.class*share, keys+share
		}
		if bits != 16*1000 || keys != 1000 && l.classes > 0 {
			t.Errorf("%s: %d bits, %d keys in classes", l.name, bits, keys)
		}
	}
}

// A filter filled piece by piece has in each piece, whole or not, the ones that
// independent draws would leave there, and none is lost.
func TestFillFilter(t *testing.T) {
	const m, keys, k = 5*piece/2 + 1000, 60_000, 2
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	f := lab.Must(papers.NewClassic(m, k))
	share := papers.ClassicFill(m, keys, k)
	var sum, rounds float64 = 0, 30
	for range int(rounds) {
		fillFilter(f, keys, r)
		sum += float64(f.Ones())
		for from := uint64(0); from < m; from += piece {
			size, ones := min(piece, m-from), 0.0
			for pos := from; pos < from+size; pos++ {
				if f.Bit(pos) {
					ones++
				}
			}
			want := share * float64(size)
			if deviation := math.Sqrt(want * (1 - share)); math.Abs(ones-want) > 5*deviation {
				t.Errorf("piece at %d: %v ones, want %v", from, ones, want)
			}
		}
	}
	if want := share * m; math.Abs(sum/rounds-want) > 5*math.Sqrt(want*(1-share)/rounds) {
		t.Errorf("%v ones on average, want %v", sum/rounds, want)
	}
}

// The keys that the filter reports are found, and are as many as the bits give.
func TestPositives(t *testing.T) {
	const queries = 100_000
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for k := 1; k <= 5; k++ {
		f := lab.Must(papers.NewClassic(5000, k))
		fillFilter(f, 4000/k, r)
		n := 0.0
		positives(f, queries, r, func(positions []uint64) {
			n++
			if len(positions) != k || !f.Has(positions) {
				t.Fatalf("k=%d: reported %v", k, positions)
			}
		})
		if want := f.Error() * queries; math.Abs(n-want) > 5*math.Sqrt(want) {
			t.Errorf("k=%d: %v found, want %v", k, n, want)
		}
	}
}

// The check value of CRC-64/ECMA-182.
func TestCRC64(t *testing.T) {
	var bits []byte
	for _, c := range []byte("123456789") {
		for i := 7; i >= 0; i-- {
			bits = append(bits, c>>i&1)
		}
	}
	if got := crc64(bits, 0); got != 0x6C40DF5F0B497347 {
		t.Errorf("%x", got)
	}
}
