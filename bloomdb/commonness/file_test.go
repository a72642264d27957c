package commonness_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// written returns the file of a site's only set.
func written(t testing.TB, s *site) []byte {
	t.Helper()
	list := s.Snapshots()
	if len(list) != 1 {
		t.Fatalf("%d files, want 1", len(list))
	}
	var b bytes.Buffer
	testenv.Check(t, list[0].Write(&b))
	return b.Bytes()
}

func load(t testing.TB, s *site, data []byte, gen int64) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "common.set")
	testenv.Check(t, os.WriteFile(path, data, 0o600))
	return s.Load(path, gen)
}

func TestSetsSurviveARestart(t *testing.T) {
	s := newSite()
	gen := s.now.Unix() / (168 * 3600)
	s.archive(feature, numbers(8)...)
	again := newSite()
	again.now = s.now
	testenv.Check(t, load(t, again, written(t, s), gen))
	if !again.IsCommon(feature) || again.IsCommon(feature+1) {
		t.Error("what was common before a restart is forgotten")
	}
}

// A set of much mail has a second layer, with nothing lost from the first one, and so has its file.
func TestSetGrows(t *testing.T) {
	s := newSite()
	gen := s.now.Unix() / (168 * 3600)
	s.archive(feature, numbers(8)...)
	small := s.Memory()
	for i := range uint64(2500) {
		features := make([]uint64, 128)
		for j := range features {
			features[j] = filter.Mix(i<<8 | uint64(j))
		}
		s.Learn(commonness.Mail{Features: features, Sender: fmt.Sprintf("%d.example", i), At: s.now})
	}
	if grown := s.Memory(); small > 1<<18 || grown <= small || grown > 2<<20 {
		t.Errorf("%d bytes with little mail, %d with 640,000 entries", small, grown)
	}
	again := newSite()
	again.now = s.now
	testenv.Check(t, load(t, again, written(t, s), gen))
	for name, of := range map[string]*site{"running": s, "restarted": again} {
		if !of.IsCommon(feature) || of.IsCommon(feature+1) || of.Memory() != s.Memory() {
			t.Errorf("%s: common %v, another %v, %d bytes", name, of.IsCommon(feature), of.IsCommon(feature+1), of.Memory())
		}
	}
}

func TestDamagedSets(t *testing.T) {
	s := newSite()
	s.receive(feature, 1)
	good, gen := written(t, s), s.now.Unix()/(168*3600)
	var damage *folder.DamageError
	for name, data := range map[string][]byte{
		"empty":    {},
		"cut":      good[:len(good)/2],
		"too long": append(bytes.Clone(good), 0),
		"changed":  append(append(bytes.Clone(good[:999]), good[999]^1), good[1000:]...),
	} {
		again := newSite()
		if err := load(t, again, data, gen); !errors.As(err, &damage) {
			t.Errorf("%s: %v, want damage", name, err)
		}
		if again.Memory() != 0 {
			t.Errorf("%s: part of it is used", name)
		}
	}
	if err := load(t, newSite(), good, gen+1); !errors.As(err, &damage) {
		t.Errorf("another generation: %v, want damage", err)
	}
	other := newSite()
	other.Table = commonness.New(other.settings, keyring.NewRing([32]byte{2}))
	if err := load(t, other, good, gen); err == nil {
		t.Error("the set of another key is used")
	}
}

func FuzzLoad(f *testing.F) {
	s := newSite()
	s.receive(feature, 1)
	good := written(f, s)
	f.Add(good[:64])
	f.Add(folder.Seal(good[:200]))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSite()
		if err := load(t, s, data, 2929); err != nil && s.Memory() != 0 {
			t.Errorf("part of a damaged set is used: %v", err)
		}
	})
}
