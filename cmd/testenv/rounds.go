package testenv

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
)

// Soak reports whether a long run is asked for, as by make soak: SPAMBLOOM_SOAK=1.
func Soak() bool { return os.Getenv("SPAMBLOOM_SOAK") != "" }

// Rounds returns the number of times that a test repeats itself with random values: full in a
// soak, a third in a usual run, a tenth in -short, and at least once.
func Rounds(full int) int {
	switch {
	case Soak():
		return full
	case testing.Short():
		return max(full/10, 1)
	default:
		return max(full/3, 1)
	}
}

// Seed returns the seed of a test's random values and logs it. SPAMBLOOM_SEED=N
// repeats a run.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("SPAMBLOOM_SEED"), 10, 64)
	if err != nil { // not set, or no number
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("SPAMBLOOM_SEED=%d repeats this run", seed)
	return seed
}

// Models sets how often each rapid.Check of a package runs its property, unless
// -rapid.checks does: 100 times in a soak or without the race detector, raced times
// with it. In -short, rapid itself takes a fifth. It is for TestMain.
func Models(raced int) error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given || Soak() || !Race {
		return nil // the default of rapid is 100
	}
	return flag.Set("rapid.checks", strconv.Itoa(raced))
}

// RunModels is the TestMain of a package whose models write state folders: they run as Models
// says, with their folders as InMemory says. It returns the exit code. Most of their memory is filters
// of databases that are closed: up to 1 GiB of it is collected less often.
func RunModels(m *testing.M, raced int) int {
	if err := Models(raced); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	InMemory()
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30)
	return m.Run()
}
