package layout_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// settings has generations of a week for reports and of a day for counts, at a time.
func settings(now time.Time) *layout.Settings {
	return &layout.Settings{
		Reports: layout.ReportOptions{Period: 168 * time.Hour, Keep: 5, Capacity: 100_000, KeysPerMessage: 8, MaxErrorPerMail: 1e-6},
		Counts:  layout.CountOptions{Period: 24 * time.Hour, Keep: 2, Capacity: 100_000},
		Now:     func() time.Time { return now },
	}
}

func TestInvalidShape(t *testing.T) {
	for name, c := range map[string]struct {
		kind  layout.Kind
		lines uint64
		k     byte
	}{
		"no lines":                    {layout.SpamFilter, 0, 8},
		"too many lines":              {layout.SpamFilter, filter.MaxLines + 1, 8},
		"no bits":                     {layout.SpamFilter, 10, 0},
		"counters with another k":     {layout.CountFilter, 10, 5},
		"counters in one line":        {layout.CountFilter, 10, 4 | 0x80},
		"no lines of counters":        {layout.DomainFilter, 0, 4},
		"more lines than 64 bits map": {layout.CountFilter, math.MaxUint64, 4},
	} {
		if err := layout.DecodeShape(c.lines, c.k).Valid(c.kind); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A shape is the same after it was encoded and decoded, for any bytes.
func TestShapeIsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := binary.BigEndian.AppendUint64(nil, rapid.Uint64().Draw(t, "lines"))
		data = append(data, rapid.Byte().Draw(t, "k"))
		s := layout.DecodeShape(binary.BigEndian.Uint64(data), data[8])
		if again := s.AppendTo(nil); !slices.Equal(again, data) {
			t.Errorf("% x, encoded again % x", data, again)
		}
	})
}

// Filters of bits and of counts keep their shape on the way through Shape.
func TestShapeOfFilters(t *testing.T) {
	o := settings(time.Unix(0, 0))
	for _, s := range []filter.BitsShape{o.SpamShape(), o.RevokedShape(), o.ClassShape(), o.SketchShape()} {
		if got := layout.BitsShape(s); !got.Bits().Equal(s) || got.Size(layout.SpamFilter) != s.Size() || got.Valid(layout.SpamFilter) != nil {
			t.Errorf("%v became %v", s, got.Bits())
		}
	}
	c := o.CountsShape()
	if got := layout.CountsShape(c); got.Counts() != c || got.Size(layout.CountFilter) != c.Size() || got.Valid(layout.CountFilter) != nil {
		t.Errorf("%v became %v", c, got.Counts())
	}
	if err := layout.Differs(layout.BitsShape(o.SpamShape()), layout.BitsShape(o.ClassShape())); !errors.Is(err, layout.ErrParameters) {
		t.Error(err)
	}
}

func TestUnknownKind(t *testing.T) {
	for _, k := range []layout.Kind{0, 8, 255} {
		if k.Valid() || k.String() != "unknown" || !errors.Is(k.Unknown(), layout.ErrNewer) {
			t.Errorf("kind %d: valid %v, %q, %v", k, k.Valid(), k, k.Unknown())
		}
	}
}

// The names of kinds are parts of file names, and distinct.
func TestKinds(t *testing.T) {
	names := make(map[string]bool)
	for k := layout.SpamFilter; k.Valid(); k++ {
		names[k.String()] = true
		if k.Counts() != (k.Unit() == "cells") || k.BlockSize() != filter.BlockSize(k.Counts()) {
			t.Errorf("%s: counts %v, unit %s", k, k.Counts(), k.Unit())
		}
		if k.Urgent() == (k == layout.CountFilter) {
			t.Errorf("%s: urgent %v", k, k.Urgent())
		}
	}
	if len(names) != 7 || names["unknown"] {
		t.Errorf("names %v", names)
	}
}

// Each moment is in exactly one generation, and the generation begins at or before it.
func TestGeneration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := settings(time.Unix(0, 0))
		o.Reports.Period = time.Duration(rapid.IntRange(1, 1e7).Draw(t, "period")) * time.Second
		at := time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "at"), 0)
		for _, kind := range []layout.Kind{layout.SpamFilter, layout.CountFilter} {
			tg := layout.Target{Kind: kind, Gen: o.Generation(kind, at)}
			begin, end := o.Start(tg), o.Start(layout.Target{Kind: kind, Gen: tg.Gen + 1})
			if at.Before(begin) || !at.Before(end) || end.Sub(begin) != o.Period(kind) {
				t.Errorf("%s: %v is in generation %d, from %v to %v", kind, at, tg.Gen, begin, end)
			}
		}
	})
}

// Generations expire after Keep periods. Future ones do not: the clock may have been set back.
func TestExpired(t *testing.T) {
	o := settings(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	for _, kind := range []layout.Kind{layout.SpamFilter, layout.CountFilter, layout.DomainFilter} {
		now := o.Generation(kind, o.Now())
		for age := int64(-3); age < 8; age++ {
			tg := layout.Target{Kind: kind, Gen: now - age}
			if got, want := o.Expired(tg), age >= int64(o.Keep(kind)); got != want {
				t.Errorf("%s, %d periods ago: expired %v", kind, age, got)
			}
			if got, want := o.Future(tg, 0), age < 0; got != want {
				t.Errorf("%s, %d periods ago: of the future %v", kind, age, got)
			}
			if got, want := o.Future(tg, o.Period(kind)), age < -1; got != want {
				t.Errorf("%s, %d periods ago: more than a period ahead %v", kind, age, got)
			}
		}
	}
	if got := o.VotesGeneration(); got != o.Generation(layout.SpamFilter, o.Now())-1 {
		t.Errorf("votes begin with generation %d", got)
	}
}

func TestTargetsInOrder(t *testing.T) {
	list := []layout.Target{{layout.SpamFilter, 1}, {layout.SpamFilter, 2}, {layout.RevokedFilter, 1}, {layout.CountFilter, 0}}
	for i, a := range list {
		for j, b := range list {
			if a.Before(b) != (i < j) {
				t.Errorf("%v before %v: %v", a, b, a.Before(b))
			}
		}
	}
}

// A filter that is full has the error for which it was sized, and takes no more bits.
func TestFullFilter(t *testing.T) {
	for _, capacity := range []int64{1, 1000, 100_000, 10_000_000} {
		o := settings(time.Unix(0, 0))
		o.Reports.Capacity = capacity
		for kind, c := range map[layout.Kind]struct {
			shape filter.BitsShape
			keys  float64
			most  float64
		}{
			layout.SpamFilter:   {o.SpamShape(), o.KeysPerGeneration(), o.Reports.MaxErrorPerMail / (8 * 5 * 2)},
			layout.ClassFilter:  {o.ClassShape(), o.KeysPerGeneration(), layout.ClassError},
			layout.SketchFilter: {o.SketchShape(), o.SketchEntriesPerGeneration(), 0.03},
		} {
			if got := c.shape.Error(c.keys); got > 1.01*c.most {
				t.Errorf("capacity %d, %s: error %.3g when full, at most %.3g", capacity, kind, got, c.most)
			}
			tg, limit := layout.Target{Kind: kind}, o.FillLimit(kind, c.shape)
			if err := o.Fits("it", c.shape, limit, tg); err != nil {
				t.Errorf("capacity %d, %s: %v", capacity, kind, err)
			}
			if err := o.Fits("it", c.shape, limit+1, tg); !errors.Is(err, layout.ErrFull) || !strings.HasPrefix(err.Error(), "it: ") {
				t.Errorf("capacity %d, %s: %v", capacity, kind, err)
			}
			if half := o.OnesOf(kind, c.shape, 0.5); half > limit || 2*half < limit && limit > int64(8*c.shape.K) {
				t.Errorf("capacity %d, %s: %d ones for half of the keys, %d for all", capacity, kind, half, limit)
			}
		}
	}
}

// Disabled filters take no memory.
func TestFullMemory(t *testing.T) {
	o := settings(time.Unix(0, 0))
	least, counts := o.FullMemory()
	o.Reports.Classes = true
	withClasses, _ := o.FullMemory()
	o.Reports.NoSketches = true
	withoutSketches, again := o.FullMemory()
	if want := 5 * (o.ClassShape().Bytes()); withClasses-least != want {
		t.Errorf("classes take %d bytes, want %d", withClasses-least, want)
	}
	if want := 5 * (o.SketchShape().Bytes()); withClasses-withoutSketches != want {
		t.Errorf("sketches take %d bytes, want %d", withClasses-withoutSketches, want)
	}
	if counts != again || counts != int64(o.CountsShape().Lines)*64*2 {
		t.Errorf("counts take %d and %d bytes", counts, again)
	}
}

func TestUnwanted(t *testing.T) {
	o := settings(time.Unix(0, 0))
	unwanted := func() (kinds []layout.Kind) {
		for k := layout.SpamFilter; k.Valid(); k++ {
			if o.Unwanted(k) {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	if got := unwanted(); !slices.Equal(got, []layout.Kind{layout.ClassFilter}) {
		t.Errorf("by default %v", got)
	}
	o.Reports.Classes, o.Reports.NoSketches, o.Domains.Campaigns = true, true, -1
	if got := unwanted(); !slices.Equal(got, []layout.Kind{layout.SketchFilter, layout.DomainFilter}) {
		t.Errorf("all disabled: %v", got)
	}
}

func TestInvalidSite(t *testing.T) {
	for _, name := range []string{"", ".", ".mx", "a/b", "a b", "ä", "a\x00", strings.Repeat("a", 65)} {
		if layout.ValidSite(name) {
			t.Errorf("%q is valid", name)
		}
	}
	for _, name := range []string{"a", "mx1.example.org", "A_b-9", "-", strings.Repeat("a", 64)} {
		if !layout.ValidSite(name) {
			t.Errorf("%q is not valid", name)
		}
	}
}

func TestJudgedDomains(t *testing.T) {
	o := settings(time.Unix(0, 0))
	o.Domains.NeverAlone = []string{"ours.example"}
	if got := o.JudgedDomains([]string{"spam.example", "ours.example", "google.com", "other.example"}); !slices.Equal(got, []string{"spam.example", "other.example"}) {
		t.Errorf("judged %v", got)
	}
	if got := o.JudgedDomains(slices.Repeat([]string{"spam.example"}, layout.MaxSetDomains+9)); len(got) != layout.MaxSetDomains {
		t.Errorf("%d domains, at most %d", len(got), layout.MaxSetDomains)
	}
}

func TestUnknownClass(t *testing.T) {
	for _, name := range []string{"Phish", "phish ", "class 9", strings.Repeat("x", 1000)} {
		c, err := layout.ParseClass(name)
		if err == nil || c != layout.ClassOther || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v, %v", name, c, err)
		}
	}
	var c layout.Class
	if err := json.Unmarshal([]byte(`"pish"`), &c); err == nil {
		t.Errorf("JSON: %v", c)
	}
}

func TestClasses(t *testing.T) {
	for _, c := range layout.Classes() {
		text, err := json.Marshal(c)
		var got layout.Class
		if e := errors.Join(err, json.Unmarshal(text, &got)); e != nil || got != c || c.Named() == (c == layout.ClassOther) {
			t.Errorf("%s: %s, %v, %v", c, text, got, e)
		}
	}
	if c, err := layout.ParseClass(""); c != layout.ClassOther || err != nil {
		t.Errorf("the empty name: %v, %v", c, err)
	}
}

// Gravest does not depend on the order of reports, and prefers any named class.
func TestGravest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SliceOfN(rapid.SampledFrom(layout.Classes()), 1, 8).Draw(t, "classes")
		all := layout.ClassOther
		for _, c := range classes {
			all = layout.Gravest(all, c)
		}
		want := layout.ClassOther
		for _, c := range []layout.Class{layout.ClassMalware, layout.ClassPhish, layout.ClassScam, layout.ClassBulk} {
			if slices.Contains(classes, c) {
				want = c
				break
			}
		}
		if all != want {
			t.Errorf("%v: %v, want %v", classes, all, want)
		}
	})
}

// A ShortID is written like the id of its signature.
func TestShortID(t *testing.T) {
	s := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, []byte("text"))}
	if got := layout.NewShortID(s).String(); got != s.ID() {
		t.Errorf("%s, want %s", got, s.ID())
	}
}
