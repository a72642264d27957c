package faults

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// The steps of a word at the desk after each of which the daemon may be killed.
const (
	stepAdmitted = "admitted" // nothing is written yet
	stepEntered  = "entered"  // it is in the ledger, and its decision is due
	stepShown    = "shown"    // it is in the filters
	stepSettled  = "settled"  // its decision is no longer due; no answer is sent
)

// A daemon killed after any step of a report, a revocation, a settlement or an undo loses no
// acknowledged word, and carries out what is in its ledger. Repeating the word that was not
// acknowledged has its effect.
func TestKillBetweenStepsLosesNoWord(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	at := filepath.Join(testenv.Dir(t), "step")
	s.Binary, s.Env = faultyDaemon(t), []string{"KILL_AT=" + at}
	s.Start()
	report := func(m api.Request) error {
		_, err := client.Post(t.Context(), s.Client(), v1.Report, m)
		return err
	}
	by := func(name string, m api.Request) api.Request {
		m.Reporter = name
		return m
	}
	words := map[string]struct {
		say    func(m api.Request) error
		before bool // whether the message is reported before, and acknowledged
		spam   bool // whether it is spam afterwards
		steps  []string
	}{
		"report": {report, false, true, []string{stepAdmitted, stepEntered, stepShown, stepSettled}},
		"revoke": {func(m api.Request) error {
			_, err := client.Post(t.Context(), s.Client(), v1.Revoke, by("bert", m))
			return err
		}, true, false, []string{stepAdmitted, stepEntered, stepShown, stepSettled}},
		"settle": {func(m api.Request) error {
			_, err := client.Post(t.Context(), s.Client(), v1.Settle, api.SettleRequest{Request: by("", m), As: "wanted"})
			return err
		}, true, false, []string{stepAdmitted, stepEntered, stepShown, stepSettled}},
		"undo": {func(m api.Request) error {
			_, err := client.Post(t.Context(), s.Client(), v1.Undo, api.UndoRequest{By: m.Reporter, Since: time.Now().Add(-time.Hour)})
			return err
		}, true, false, []string{stepEntered, stepShown, stepSettled}},
	}
	acknowledged := map[bool][]api.Request{} // by whether they are spam
	check := func(what string) {
		t.Helper()
		for spam, list := range acknowledged {
			for _, m := range list {
				testenv.Eventually(t, what+": acknowledged words hold", func() bool { return s.Lists(t, m) == spam })
			}
		}
	}
	for name, word := range words {
		for _, step := range word.steps {
			m := by("of-"+name+"-"+step, harness.Request(harness.Text()))
			if word.before {
				if err := report(m); err != nil {
					t.Fatal(err)
				}
			}
			harness.Write(t, at, step)
			if err := word.say(m); err == nil {
				t.Errorf("%s is acknowledged by a daemon killed at %s", name, step)
			}
			if code := s.Stop(harness.NoSignal); code != -1 {
				t.Errorf("%s, %s: the daemon ended with %d\n%s", name, step, code, s.Log())
			}
			harness.Write(t, at, "")
			s.Start()
			if step != stepAdmitted {
				testenv.Eventually(t, name+" in the ledger at "+step+" is carried out", func() bool { return s.Lists(t, m) == word.spam })
			} else if s.Lists(t, m) != word.before {
				t.Errorf("%s, %s: the message has changed", name, step)
			}
			if err := word.say(m); err != nil {
				t.Errorf("%s again after %s: %v", name, step, err)
			}
			acknowledged[word.spam] = append(acknowledged[word.spam], m)
			check(name + " " + step)
		}
	}
	s.Stop(syscall.SIGKILL)
	s.Start()
	check("at the end")
}

// A revocation that waits for a listing of another site acts although the daemon is killed before
// the listing arrives, or after any step of the revocation.
func TestKillWhileAWordWaits(t *testing.T) {
	t.Parallel()
	redis, key := harness.StartRedis(t), filepath.Join(testenv.Dir(t), "key")
	a, b := harness.NewSite(t, "a", key, redis.URL()), harness.NewSite(t, "b", key, redis.URL())
	at := filepath.Join(testenv.Dir(t), "step")
	b.Binary, b.Env = faultyDaemon(t), []string{"KILL_AT=" + at}
	a.Start()
	b.Start()
	for _, step := range []string{"", stepEntered, stepShown, stepSettled} {
		m := harness.Request(harness.Text())
		m.Reporter = "bert"
		if r, err := client.Post(t.Context(), b.Client(), v1.Revoke, m); err != nil || r.WaitsUntil.IsZero() {
			t.Fatalf("%q: the revocation does not wait: %+v, %v", step, r, err)
		}
		if step == "" {
			b.Stop(syscall.SIGKILL)
		} else {
			harness.Write(t, at, step)
		}
		m.Reporter = "anna"
		a.MustReport(t, m)
		if code := b.Stop(harness.NoSignal); step != "" && code != -1 {
			t.Errorf("%s: the daemon ended with %d\n%s", step, code, b.Log())
		}
		harness.Write(t, at, "")
		b.Start()
		testenv.Eventually(t, "the revocation arrives, step "+step, func() bool { return !a.Lists(t, m) })
		if b.Lists(t, m) {
			t.Errorf("%q: its own site lists the message", step)
		}
	}
}
