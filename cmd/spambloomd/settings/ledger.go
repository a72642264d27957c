package settings

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
)

// trustModel returns the weights of reporters.
func (s *Settings) trustModel() trust.Model {
	return trust.Model{
		Quorum: s.Reports.Quorum, Newcomer: s.Reports.NewcomerWeight,
		Floor: s.Reports.WeightFloor, Ceiling: s.Reports.WeightCeiling,
		HalfLife: s.Reports.WeightHalfLife,
	}
}

const (
	// reportsPerMessage bounds the ledger: it keeps that many reports for each message of the
	// filters' capacity.
	reportsPerMessage = 4
	// reportSize is what a report takes of the ledger's file (contrib/benchmarks.md). Unit: bytes.
	reportSize = 2700
	// otherDisk is for keys, and the counts by hour of a year, at most 1 MiB a month. Unit: bytes.
	otherDisk = 14 << 20
)

// LedgerOptions returns the options of the ledger of reports.
func (s *Settings) LedgerOptions(log *slog.Logger) ledger.Options {
	return ledger.Options{
		Path:   filepath.Join(s.Data, "reports.db"),
		Model:  s.trustModel(),
		Memory: s.Reports.Period * time.Duration(s.Reports.Keep),
		Max:    reportsPerMessage * s.Reports.Capacity,
		Log:    log,
	}
}

// DeskOptions returns the options of the desk.
func (s *Settings) DeskOptions(log *slog.Logger) desk.Options {
	return desk.Options{
		Period:   s.Reports.Period,
		MaxHour:  int(s.Reports.MaxPerHour),
		Joined:   s.Redis.URL != "",
		HoldFrom: uint64(s.Reports.HoldFrom),
		Log:      log,
	}
}
