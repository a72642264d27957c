package main

import (
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
)

// testDesk is a desk with a ledger of its own.
func testDesk(t *testing.T, db *bloomdb.DB) *reporting.Desk {
	t.Helper()
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: trust.Default(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return reporting.NewDesk(db, l, reporting.DeskOptions{})
}
