package replica

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// sampleFolder is a corpus of the variation package's samples: three spams, and one
// ham that has the same text as the first of them where hit is set.
func sampleFolder(t *testing.T, hit bool) string {
	t.Helper()
	root := t.TempDir()
	copyTo := func(folder, sample string) {
		raw, err := os.ReadFile(filepath.Join("../variation/testdata", sample))
		testenv.Check(t, err)
		testenv.Check(t, os.MkdirAll(filepath.Join(root, folder), 0o700))
		testenv.Check(t, os.WriteFile(filepath.Join(root, folder, sample), raw, 0o600))
	}
	for _, sample := range []string{"html.eml", "both.eml", "plain.eml"} {
		copyTo("spam", sample)
	}
	copyTo("ham", "latin.eml")
	if hit {
		copyTo("ham", "plain.eml")
	}
	return root
}

func read(t *testing.T, hit bool) *Corpus {
	t.Helper()
	c, err := Read(context.Background(), sampleFolder(t, hit))
	testenv.Check(t, err)
	return c
}

func kinds(t *testing.T, names ...string) []variation.Kind {
	t.Helper()
	var list []variation.Kind
	for _, name := range names {
		k, ok := variation.Find(name)
		if !ok {
			t.Fatalf("no kind %s", name)
		}
		list = append(list, k)
	}
	return list
}

func TestRun(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, together := range []bool{false, true} {
		o := Options{Messages: 10, Seed: 1, Kinds: kinds(t, "base64", "html-comments", "swapped-many", "zip-repacked"), Together: together}
		rows, s, err := Run(context.Background(), read(t, false), o)
		testenv.Check(t, err)
		if s.Reported != 3 || s.Ham != 1 || len(s.HamHits) != 0 || s.Sketches <= 0 || s.Memory <= s.Sketches || s.P95 < s.P50 || s.P50 <= 0 {
			t.Errorf("together %v: summary %+v", together, s)
		}
		if r := rows[0]; r.Copies != 3 || r.Caught != 3 || r.Rate != 100 || r.By["text"] != 3 || r.Missed() {
			t.Errorf("together %v: recoded copies: %+v, want all caught by their text", together, r)
		}
		if r := rows[1]; r.Copies != 2 {
			t.Errorf("together %v: %d messages with HTML varied, want 2", together, r.Copies)
		}
		if r := rows[2]; r.By["text"] != 0 || r.By["body"] != 0 {
			t.Errorf("together %v: copies with other words: %+v, caught by exact text", together, r)
		}
	}
}

// Copies whose originals nobody reported are not caught: what a row says comes
// from the report.
func TestUnreportedIsNotCaught(t *testing.T) {
	c := read(t, false)
	db, err := openDatabase(t.TempDir(), 1000)
	testenv.Check(t, err)
	defer db.Close()
	b := &bench{Options: Options{Seed: 1, Kinds: kinds(t, "base64", "subject"), Together: true}, from: c.material(),
		rows: []Row{{By: map[string]int{}}, {By: map[string]int{}}}}
	for _, m := range c.Spams {
		testenv.Check(t, b.message("", db, m))
	}
	for _, r := range b.rows {
		if r.Copies != 3 || r.Caught != 0 {
			t.Errorf("%+v, want 3 copies and none caught", r)
		}
	}
}

func TestSameSeedSameRows(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	c := read(t, false)
	o := Options{Messages: 2, Seed: 7, Kinds: kinds(t, "typos", "spaces", "token", "attachment")}
	first, _, err := Run(context.Background(), c, o)
	testenv.Check(t, err)
	again, _, err := Run(context.Background(), c, o)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("two runs of one seed differ (%v):\n%+v\n%+v", err, first, again)
	}
}

func TestHamHits(t *testing.T) {
	_, s, err := Run(context.Background(), read(t, true), Options{Messages: 10, Seed: 1})
	testenv.Check(t, err)
	if len(s.HamHits) != 1 || !strings.HasPrefix(s.HamHits[0], "plain.eml ") {
		t.Errorf("ham hits %q, want plain.eml", s.HamHits)
	}
}

func TestPairs(t *testing.T) {
	list := Pairs(read(t, false), Options{Messages: 10, Seed: 1, Kinds: kinds(t, "base64", "swapped-many", "appended")})
	if len(list) != 12 {
		t.Fatalf("%d rows, want 4 measures of 3 kinds", len(list))
	}
	for _, l := range list {
		low, high := 0.0, 1.0
		switch {
		case l.Kind == "base64":
			low = 1
		case l.Kind == "appended" && strings.HasPrefix(l.Measure, "contain"):
			low = 1
		case l.Kind == "swapped-many":
			low, high = 0.05, 0.8
		}
		if l.Shares[3] < low || l.Shares[3] > high || l.Shares[0] > l.Shares[3] {
			t.Errorf("%+v: median not within %g and %g", l, low, high)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	empty := t.TempDir()
	for _, name := range []string{empty, filepath.Join(empty, "none.tar.xz"), filepath.Join(empty, "none")} {
		if _, err := Read(context.Background(), name); err == nil || !strings.HasPrefix(err.Error(), "corpus") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
