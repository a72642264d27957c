package main

import (
	"errors"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
)

// cmdAnother: another SITE [other-key] starts the daemon of another site, of this
// federation or of another one, and speaks to it from now on.
func cmdAnother(ts *testscript.TestScript, _ bool, args []string) {
	d := daemonOf(ts)
	o := smallOptions(filepath.Join(d.dir, args[0]), args[0])
	if len(args) > 1 {
		o.Key = [32]byte{2}
	}
	db, err := bloomdb.Open(o)
	ts.Check(err)
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(d.dir, args[0]+".db"), Model: trust.Default()})
	ts.Check(err)
	ts.Defer(func() { ts.Check(errors.Join(l.Close(), db.Check(), db.Close())) })
	ts.Check(d.serve(args[0], reporting.NewHandler(reporting.NewDesk(db, l, reporting.DeskOptions{}), reporting.HandlerOptions{
		Decide: func(e bloomdb.Evidence, _ bool) string {
			if e.Listed {
				return "spam"
			}
			return "clean"
		},
	})))
	ts.Setenv("SPAMBLOOM_CONTROL", "unix:"+d.socket(args[0]))
}
