package federation

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// forger is a member whose program was changed: it enters what its reporters may not, and its
// exchange publishes that in genuine, signed records.
func forger(t *testing.T, name string, key [32]byte, url string) *bloomdb.DB {
	t.Helper()
	db, err := bloomdb.Open(bloomdb.Options{Dir: t.TempDir(), Site: name, Key: key, Exchange: true,
		Reports: bloomdb.ReportOptions{Capacity: 4_000, Classes: true}, Counts: bloomdb.CountOptions{Capacity: 1_000}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := redisclient.Dial(url, redisclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := exchange.New(db, streams.New(c, keyring.ID(key)), exchange.Options{Interval: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- x.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for _, err := range []error{<-ended, db.Close(), c.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return db
}

// TestForgedRungs is the attack "forged rungs" over a real Redis against a real daemon: a member
// publishes all 16 rungs of a message in signed records of its own stream. At the daemon the
// message is revoked, until a reporter there lists it; what follows is decided there.
func TestForgedRungs(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	keyFile := filepath.Join(testenv.Dir(t), "key")
	site := harness.NewSite(t, "mx1", keyFile, redis.URL()).Start()
	key, err := keyring.ReadKey(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	member := forger(t, "mx2", key, redis.URL())
	text := harness.Text()
	m, marker := set(text), harness.Text()
	settle := make(map[signature.Signature]bool)
	for i := range layout.Rungs {
		for _, s := range m.Signatures {
			settle[s] = i < layout.Rungs-1
		}
		member.Settle(settle)
		if i%2 == 0 {
			err = member.Report(m, bloomdb.ClassOther)
		} else {
			err = member.Revoke(m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, "the forged rungs are published", func() bool {
		_, pending, err := member.NextDelta(true)
		return err == nil && !pending
	})
	if err := member.Report(set(marker), bloomdb.ClassOther); err != nil {
		t.Fatal(err)
	}
	control := site.Client()
	testenv.Eventually(t, "the daemon has applied them", func() bool { return harness.Verdict(t, control, harness.Request(marker)) == "spam" })

	copies := []api.Request{harness.Request(text), harness.Request(varied(text))}
	for i, want := range []string{"clean", "spam", "clean", "spam"} {
		if i > 0 {
			endpoint := v1.Report
			if want == "clean" {
				endpoint = v1.Revoke
			}
			if _, err := client.Post(t.Context(), control, endpoint, copies[0]); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range copies {
			if got := harness.Verdict(t, control, c); got != want {
				t.Errorf("after %d changes here: %s, want %s", i, got, want)
			}
		}
	}
}

// set returns the signatures of a message.
func set(body string) signature.Set {
	return signature.Compute(signature.Parse([]byte(harness.Message(body))))
}
