package replay

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// text returns a set with one text signature.
func text(content string) signature.Set {
	s := []signature.Signature{{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, []byte(content))}}
	return signature.Set{Signatures: s, Counting: s}
}

// archive returns messages an hour apart: "S" spam or "H" ham, then the content.
func archive(codes ...string) []Message {
	messages := make([]Message, len(codes))
	for i, code := range codes {
		messages[i] = Message{
			Name: fmt.Sprintf("%d%s", i, code), Spam: code[0] == 'S',
			Time: time.Date(2002, 1, 1, i, 0, 0, 0, time.UTC), Set: text(code[1:]),
		}
		if code[1:] == "" {
			messages[i].Set = signature.Set{}
		}
	}
	return messages
}

func options(dir string) Options {
	return Options{Dir: dir, Sites: 1, ReportShare: 1, Clock: true, Seed: 1}
}

// stateFolder is in memory if possible, because databases sync each report.
func stateFolder(t rapid.TB) (dir string, remove func()) {
	dir, err := os.MkdirTemp("/dev/shm", "replay")
	if err != nil {
		dir, err = os.MkdirTemp("", "replay")
	}
	testenv.Check(t, err)
	return dir, func() { os.RemoveAll(dir) }
}

func runAll(t *testing.T, messages []Message, o Options) *Result {
	t.Helper()
	dir, remove := stateFolder(t)
	defer remove()
	o.Dir = dir
	judged := 0
	r, err := Run(context.Background(), messages, o, func() { judged++ })
	testenv.Check(t, err)
	if judged != len(messages) {
		t.Errorf("%d of %d messages were announced", judged, len(messages))
	}
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("state is left: %v, %v", left, err)
	}
	return r
}

func TestOptionsAreChecked(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Sites = 0 }, func(o *Options) { o.Sites = MaxSites + 1 },
		func(o *Options) { o.ReportAfter = -1 },
		func(o *Options) { o.ReportShare = -0.1 }, func(o *Options) { o.ReportShare = 1.1 },
	} {
		o := options(t.TempDir())
		change(&o)
		if _, err := Run(context.Background(), nil, o, nil); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(gone, archive("Sa"), options(t.TempDir()), func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSums(t *testing.T) {
	r := runAll(t, archive("Sa", "Sa", "Hb", "Ha", "S", "H", "Sc", "Hd", "Hd", "Sa"), func() Options {
		o := options("")
		o.BulkThreshold = 2
		return o
	}())
	got := fmt.Sprintf("%d: spam %d caught %d missed %d (unsigned %d) ham %d hit %d bulk %d (unsigned %d) reported %d unreportable %d",
		r.Messages, r.Spam, r.Caught, r.Missed, r.UnsignedSpam, r.Ham, r.HamHit, r.BulkHam, r.UnsignedHam, r.Reported, r.Unreportable)
	want := "10: spam 5 caught 2 missed 3 (unsigned 1) ham 5 hit 1 bulk 1 (unsigned 1) reported 3 unreportable 1"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if k := r.Kinds[slices.Index(kinds, signature.KindText)]; k != (KindResult{"text", 2, 2, 1}) {
		t.Errorf("text: %+v", k)
	}
	if len(r.FalsePositives) != 1 || r.FalsePositives[0].File != "3Ha" || len(r.FalsePositives[0].Reasons) != 1 ||
		r.FalsePositives[0].Reasons[0].Reported != "0Sa" {
		t.Errorf("false positives: %+v", r.FalsePositives)
	}
	if len(r.MissedFiles) != 3 || r.MissedFiles[1] != (Miss{"4S", "skipped"}) {
		t.Errorf("missed: %+v", r.MissedFiles)
	}
}

// All sites list a report for as long as its generation is kept, whichever site made it.
// The number of sites therefore changes nothing.
func TestRunEqualsModel(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	const keep = 5
	week := func(at time.Time) int64 { return at.Unix() / int64(reportPeriod/time.Second) }
	rapid.Check(t, func(t *rapid.T) {
		codes := rapid.SliceOfN(rapid.SampledFrom([]string{"Sa", "Sb", "Sc", "S", "Ha", "Hb", "Hd", "H"}), 1, 20).Draw(t, "messages")
		messages := archive(codes...)
		at := messages[0].Time
		for i := range messages {
			at = at.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 30, 200, 1000}).Draw(t, "hours")) * time.Hour)
			messages[i].Time = at
		}
		o := options("")
		o.Sites = rapid.IntRange(1, 3).Draw(t, "sites")
		o.ReportAfter = rapid.IntRange(0, 5).Draw(t, "report after")
		o.Clock = rapid.Bool().Draw(t, "clock")
		dir, remove := stateFolder(t)
		defer remove()
		o.Dir = dir
		r, err := Run(context.Background(), messages, o, func() {})
		testenv.Check(t, err)
		reported := make(map[string]int64) // until the newest week
		for i, m := range messages {
			now := week(m.Time)
			if !o.Clock {
				now = 0
			}
			if j := i - 1 - o.ReportAfter; j >= 0 && messages[j].Spam && codes[j] != "S" {
				reported[codes[j][1:]] = now
			}
			in, ok := reported[codes[i][1:]]
			if want := ok && now-in < keep; r.outcomes[i].caught != want {
				t.Fatalf("message %d (%s at %v): listed %v, want %v", i, codes[i], m.Time, !want, want)
			}
		}
	})
}

func TestRunKeys(t *testing.T) {
	o := options("")
	dir, remove := stateFolder(t)
	defer remove()
	o.Dir, o.Seed = dir, 10
	r, err := RunKeys(context.Background(), archive("Sa", "Ha", "Sa", "Hb", "Ha"), o, 3, func() {})
	testenv.Check(t, err)
	if want := []KeyResult{{10, 1, 2, 0}, {11, 1, 2, 0}, {12, 1, 2, 0}}; !slices.Equal(r.Keys, want) {
		t.Errorf("%v, want %v", r.Keys, want)
	}
	if fp := r.FalsePositives; len(fp) != 2 || fp[0].File != "1Ha" || fp[0].Keys != 3 || fp[1].File != "4Ha" || fp[1].Keys != 3 {
		t.Errorf("%+v", fp)
	}
}

func TestNobodyReports(t *testing.T) {
	o := options("")
	o.ReportShare = 0
	if r := runAll(t, archive("Sa", "Sa", "Sa"), o); r.Caught != 0 || r.Reported != 0 {
		t.Errorf("caught %d, reported %d", r.Caught, r.Reported)
	}
	o.ReportShare, o.Seed = 0.5, 7
	messages := make([]string, 400)
	for i := range messages {
		messages[i] = fmt.Sprintf("S%d", i)
	}
	if r := runAll(t, archive(messages...), o); r.Reported < 140 || r.Reported > 260 {
		t.Errorf("%d of 400 reported, want about 200", r.Reported)
	}
}

// Databases are closed and reopened meanwhile; their data stays.
func TestLongArchive(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	var codes []string
	for i := range 60 {
		codes = append(codes, fmt.Sprintf("S%d", i/2))
	}
	messages := archive(codes...)
	for i := range messages {
		messages[i].Time = messages[0].Time.AddDate(0, 0, 10*i)
	}
	for _, sites := range []int{1, 2} {
		o := options("")
		o.Sites = sites
		if r := runAll(t, messages, o); r.Caught != 30 {
			t.Errorf("%d sites: %d of 30 copies caught", sites, r.Caught)
		}
	}
}

func TestPlot(t *testing.T) {
	var codes []string
	for i := range 1000 {
		codes = append(codes, []string{"Sa", "Hb", "Sc", "Ha"}[i%4])
	}
	for _, c := range []struct {
		messages []Message
		marks    int
	}{{nil, 0}, {archive("Sa"), 0}, {archive("Hb", "Ha"), 0}, {archive(codes...), 250}} {
		r := runAll(t, c.messages, options(""))
		var b strings.Builder
		testenv.Check(t, r.Plot(&b))
		d := xml.NewDecoder(strings.NewReader(b.String()))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%d messages: %v", len(c.messages), err)
			}
		}
		if n := strings.Count(b.String(), `y2="360" stroke="#c00000"`); n != c.marks {
			t.Errorf("%d marks of hit ham, want %d", n, c.marks)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%d messages: an invalid number", len(c.messages))
		}
		if err := r.Plot(full{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("a full disk: %v", err)
		}
	}
}

// full is a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// The share of the last spams does not include the first ones.
func TestShares(t *testing.T) {
	r := newResult()
	for i := range 3 * window {
		r.outcomes = append(r.outcomes, outcome{spam: true, caught: i < window})
	}
	r.Spam = 3 * window
	so, recent := r.shares()
	share := func(p point) float64 { return 1 - (p.y-plotTop)/innerHeight }
	for _, c := range []struct {
		points []point
		at     int
		want   float64
	}{{so, window, 1}, {so, 2 * window, 0.5}, {recent, window, 1}, {recent, window + window/2, 0.5}, {recent, 3 * window, 0}} {
		if got := share(c.points[c.at-1]); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("after %d: %v, want %v", c.at, got, c.want)
		}
	}
	if !slices.IsSortedFunc(so, func(a, b point) int { return int(a.x - b.x) }) {
		t.Error("the line goes back")
	}
}
