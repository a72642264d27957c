package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// An invalid roll-over is rejected before anything is changed.
func TestWrongRollover(t *testing.T) {
	one, two := harness.KeyFile(t, [32]byte{1}), harness.KeyFile(t, [32]byte{2})
	for _, c := range []struct {
		key, previous string
		code          int
		want          string
	}{
		{two, one, 0, ""},
		{one, one, 78, "contain the same key"},
		{two, one + "-gone", 78, "previous_federation_key: federation key: open"},
		{two + "-gone", one, 78, "no key to roll over to"},
		{two, harness.Write(t, filepath.Join(t.TempDir(), "short"), "1234"), 78, "must be 64 hex digits"},
	} {
		path := harness.Write(t, filepath.Join(t.TempDir(), "c.toml"), fmt.Sprintf("[site]\nfederation_key = %q\nprevious_federation_key = %q\n", c.key, c.previous))
		if r := start(t, tested("-c", path, "--data", t.TempDir())...); r.Code != c.code || !strings.Contains(r.Stderr, c.want) {
			t.Errorf("%s after %s: exit %d: %s", c.key, c.previous, r.Code, r.Stderr)
		}
	}
}

// Both databases have their metrics, and the page shows that there are two.
func TestRolloverIsShown(t *testing.T) {
	d, o := withDatabase(t, [32]byte{2}, &[32]byte{1})
	client, err := redisclient.Dial("redis://127.0.0.1:1/0", redisclient.Options{})
	testenv.Check(t, err)
	t.Cleanup(func() { client.Close() })
	d.redis = client
	d.exchange = exchange.New(d.db, streams.New(client, keyring.ID(o.Key)), d.started.ExchangeOptions(d.log))
	d.joinPrevious()
	h := d.newHTTP().Handler
	for path, wants := range map[string][]string{
		"/filters": {"previous key", keyring.ID(*o.PreviousKey)},
		"/metrics": {
			fmt.Sprintf(`spambloom_exchange_connected{key="%s"} 0`, keyring.ID(o.Key)),
			fmt.Sprintf(`spambloom_exchange_connected{key="%s"} 0`, keyring.ID(*o.PreviousKey)),
			fmt.Sprintf(`spambloom_db_journal_fault{key="%s"} 0`, keyring.ID(*o.PreviousKey)),
		},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, monitorGet(path))
		body, _ := io.ReadAll(w.Body)
		for _, want := range wants {
			if w.Code != 200 || !strings.Contains(string(body), want) {
				t.Errorf("GET %s: %d, %q is missing in\n%s", path, w.Code, want, body)
			}
		}
	}
	if f := d.facts(); f.Exchange == nil || f.Previous == nil {
		t.Errorf("facts %+v", f)
	}
}
