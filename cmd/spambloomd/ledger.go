package main

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
)

// trustModel returns the weights of reporters.
func (s *settings) trustModel() trust.Model {
	return trust.Model{
		Quorum: s.Reports.Quorum, Newcomer: s.Reports.NewcomerWeight,
		Floor: s.Reports.WeightFloor, Ceiling: s.Reports.WeightCeiling,
		HalfLife: s.Reports.WeightHalfLife,
	}
}

// reportsPerMessage bounds the ledger: it keeps that many reports for each message of the
// filters' capacity. A report takes some 2.7 kB of disk.
const reportsPerMessage = 4

// openLedger opens the ledger of reports in the state folder.
func openLedger(s *settings, log *slog.Logger) (*ledger.Ledger, error) {
	l, err := ledger.Open(s.ledgerOptions(log))
	if err != nil {
		return nil, &failure{exIOErr, err}
	}
	return l, nil
}

func (s *settings) ledgerOptions(log *slog.Logger) ledger.Options {
	return ledger.Options{
		Path:   filepath.Join(s.data, "reports.db"),
		Model:  s.trustModel(),
		Memory: s.Reports.Period * time.Duration(s.Reports.Keep),
		Max:    reportsPerMessage * s.Reports.Capacity,
		Log:    log,
	}
}

func (s *settings) deskOptions(log *slog.Logger) desk.Options {
	return desk.Options{
		Period:   s.Reports.Period,
		MaxHour:  int(s.Reports.MaxPerHour),
		Joined:   s.Redis.URL != "",
		HoldFrom: uint64(s.Reports.HoldFrom),
		Log:      log,
	}
}
