package doors

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// door is a site that serves spamd's protocol on a unix socket and on TCP.
type door struct {
	*harness.Site
	socket string
	port   int
}

func startDoor(t *testing.T, changes string) *door {
	t.Helper()
	d := &door{Site: harness.NewSite(t, "mx1", harness.KeyFile(t, [32]byte{1}), ""), port: testenv.Port(t)}
	d.socket = filepath.Join(d.Dir, "spamd.sock")
	d.Overlay(t, "[spamd]\nlisten = [\"unix:"+d.socket+"\", \"inet:"+testenv.Local(d.port)+"\"]\nsocket_mode = \"0666\"\n"+changes)
	d.Start()
	return d
}
