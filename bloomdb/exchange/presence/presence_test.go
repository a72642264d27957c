package presence

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

const id = "0123456789abcdef"

// Sites see each other whatever their keys are, for as long as they write. Entries that a
// site would not write are not shown.
func TestSitesSeeEachOther(t *testing.T) {
	server, client := redistest.Mini(t)
	now := time.Now()
	a := New(client, Entry{Site: "a", KeyIDs: id, Parameters: "168h/5/1000/1e-6"})
	b := New(client, Entry{Site: "b", KeyIDs: strings.Repeat("f", 16), Parameters: "24h/5/1000/1e-6"})
	a.exchange(t.Context(), now)
	b.exchange(t.Context(), now)
	for site, value := range map[string]string{
		"x": "", "no key": "1 " + id + " 1 p", "y": "2 " + id + " 1 p", "z": "1 zz 1 p", "long": "1 " + id + " 1 " + strings.Repeat("p", 200), "esc": "1 " + id + " 1 \x1b[2J",
	} {
		server.HSet(Key, site, value)
	}
	a.exchange(t.Context(), now)
	if got := a.Others(); len(got) != 1 || got[0].Site != "b" || got[0].KeyIDs != strings.Repeat("f", 16) || got[0].Parameters != "24h/5/1000/1e-6" {
		t.Errorf("a sees %+v", got)
	}
	a.exchange(t.Context(), now.Add(2*time.Minute))
	if got := a.Others(); len(got) != 0 {
		t.Errorf("a sees %+v, which has not written for two minutes", got)
	}
	server.Close()
	a.exchange(t.Context(), now)
	if got := a.Others(); len(got) != 0 {
		t.Errorf("a sees %+v without Redis", got)
	}
}

// A hash that somebody has filled is emptied, and so is a key with other data.
func TestFilledHash(t *testing.T) {
	server, client := redistest.Mini(t)
	testenv.Check(t, server.Set(Key, "other data"))
	New(client, Entry{Site: "b", KeyIDs: id, Parameters: "p"}).exchange(t.Context(), time.Now())
	if server.HGet(Key, "b") == "" {
		t.Error("other data remains in the place of the hash")
	}
	for i := range 1100 {
		server.HSet(Key, strings.Repeat("s", 1+i%60)+string(rune('a'+i%26))+time.Duration(i).String(), "x")
	}
	New(client, Entry{Site: "a", KeyIDs: id, Parameters: "p"}).exchange(t.Context(), time.Now())
	if keys, err := server.HKeys(Key); err != nil || len(keys) != 1 {
		t.Errorf("%d entries, %v", len(keys), err)
	}
	server.HSet(Key, strings.Repeat("s", 1<<20), "x")
	New(client, Entry{Site: "a", KeyIDs: id, Parameters: "p"}).exchange(t.Context(), time.Now())
	if keys, err := server.HKeys(Key); err != nil || len(keys) != 1 || keys[0] != "a" {
		t.Errorf("a long name remains: %d entries, %v", len(keys), err)
	}
}

// Run writes at once, and ends with its context.
func TestRun(t *testing.T) {
	server, client := redistest.Mini(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	p := New(client, Entry{Site: "a", KeyIDs: id, Parameters: "p"})
	go func() { defer close(done); p.Run(ctx) }()
	testenv.Eventually(t, "the entry is written", func() bool { return server.HGet(Key, "a") != "" })
	cancel()
	<-done
}

// A site with another key or other parameters is named, one in a change of keys is not.
func TestNotes(t *testing.T) {
	other := strings.Repeat("f", 16)
	own := Entry{Site: "a", KeyIDs: id, Parameters: "168h/5/1000/1e-06"}
	notes := Notes(own, []Entry{
		{Site: "same", KeyIDs: id, Parameters: own.Parameters},
		{Site: "changing", KeyIDs: other + "+" + id, Parameters: own.Parameters},
		{Site: "foreign", KeyIDs: other, Parameters: own.Parameters},
		{Site: "unlike", KeyIDs: id, Parameters: "24h/5/1000/1e-06"},
	})
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "foreign uses this Redis with another federation key") ||
		!strings.HasPrefix(notes[1], "unlike has other values in [reports]: period 24h, keep 5, capacity 1000, max_error_per_mail 1e-06 (here period 168h") {
		t.Errorf("%q", notes)
	}
	if notes := Notes(own, make([]Entry, 20)); len(notes) != maxNotes {
		t.Errorf("%d notes", len(notes))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a", "1 "+id+" 1700000000 168h/5/1000/1e-6")
	f.Fuzz(func(t *testing.T, site, value string) {
		e, ok := parse(site, value)
		if !ok {
			return
		}
		if again, ok := parse(site, e.value(e.Seen)); !ok || again != e {
			t.Errorf("%+v became %+v", e, again)
		}
	})
}
