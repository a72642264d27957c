//go:build figures

package figures

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/rspamd"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// rspamdConf runs a proxy for milters that scans by itself, with as many processes as
// there are processors, with one check, and with its own storage. Nothing else runs: no
// rules, no other module, no Redis, no DNS.
const rspamdConf = `
logging { type = "file"; filename = "%[1]s/log"; level = "warning"; }
metric { name = "default"; actions { reject = 1000; add_header = 900; greylist = 800; } unknown_weight = 1.0; }
worker "rspamd_proxy" {
  bind_socket = "127.0.0.1:%[2]d";
  milter = yes; timeout = 120s; count = 2;
  upstream "local" { default = yes; self_scan = yes; hosts = "127.0.0.1:1"; }
}
worker "fuzzy" {
  bind_socket = "127.0.0.1:%[3]d";
  count = 1; backend = "sqlite"; hashfile = "%[1]s/fuzzy.db"; expire = 90d;
  allow_update = ["127.0.0.1"];
}
fuzzy_check {
  min_bytes = 1k; timeout = 2s; retransmits = 1;
  rule "local" {
    algorithm = "mumhash"; servers = "127.0.0.1:%[3]d";
    symbol = "LOCAL_FUZZY_UNKNOWN"; mime_types = ["*"];
    max_score = 20.0; read_only = yes; skip_unknown = yes;
    short_text_direct_hash = true; min_length = 64;
    fuzzy_map = { LOCAL_FUZZY_DENIED { max_score = 20.0; flag = 1; } }
  }
}
`

// domainEndings are those that rspamd uses as it is installed.
const domainEndings = "/usr/share/rspamd/effective_tld_names.dat"

// startRspamd returns nil if rspamd is not installed.
func startRspamd(t *testing.T) *target {
	t.Helper()
	program, err := exec.LookPath("rspamd")
	if err != nil {
		t.Log("rspamd is not installed, nothing is compared to it (apt-get install --no-install-recommends rspamd)")
		return nil
	}
	dir, milter, fuzzy := rspamd.Folder(t), testenv.Port(t), testenv.Port(t)
	endings, err := os.ReadFile(domainEndings) // with few of them rspamd does less for each message
	testenv.Check(t, err)
	harness.Write(t, filepath.Join(dir, "tld"), string(endings))
	process, _ := rspamd.Start(t, program, dir, "fuzzy_check", fmt.Sprintf(rspamdConf, dir, milter, fuzzy))
	g := &target{name: "rspamd", network: "tcp", addr: fmt.Sprintf("127.0.0.1:%d", milter), pid: process.Pid}
	g.await(t)
	return g
}

// await waits until it answers. Creating its tables takes some time.
func (g *target) await(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(testenv.Patience); ; time.Sleep(100 * time.Millisecond) {
		conn, err := net.Dial(g.network, g.addr)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not start: %v", g.name, err)
		}
	}
}

// The same mail to our milter and to rspamd's, alternately: messages for each second of
// processor time of all their processes.
func TestRspamdFigures(t *testing.T) {
	logLoad(t)
	theirs := startRspamd(t)
	if theirs == nil {
		t.Skip("rspamd is not installed")
	}
	parcels := corpusParcels(t)
	_, ours, _ := figureSite(t)
	const rounds, conns, long = 6, 20, 5 * time.Second
	ours.load(t, parcels, conns, long) // warm-up
	theirs.load(t, parcels, conns, 3*long)
	var table strings.Builder
	fmt.Fprintln(&table, "| milter | messages/s | p50 ms | p99 ms | messages for each CPU second |\n|---|---|---|---|---|")
	var cpu, speed ratios
	for range rounds {
		a, b := ours.load(t, parcels, conns, long), theirs.load(t, parcels, conns, long)
		for _, row := range []struct {
			name string
			loaded
		}{{"spambloom", a}, {"rspamd", b}} {
			fmt.Fprintf(&table, "| %s | %.0f | %.2f | %.2f | %.0f |\n", row.name, row.perSecond(), row.at(0.5), row.at(0.99), row.perCPUSecond())
		}
		cpu, speed = append(cpu, a.perCPUSecond()/b.perCPUSecond()), append(speed, a.perSecond()/b.perSecond())
	}
	t.Logf("%d connections:\n%s", conns, &table)
	t.Logf("messages for each CPU second: %s times rspamd's; messages/s: %s times", cpu, speed)
}
