package state

import (
	"errors"
	"log/slog"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// relistStep is the time between two calls of progress.
const relistStep = 5 * time.Second

// findLost checks that the filters have what was reported after their identity was written. After
// a crash the journal has it, or the desk will do it. If not, the end of the journal is lost, or all files
// but the ledger are an older copy. If the ledger may lack the last word, the filters know better.
func (st *State) findLost(log *slog.Logger) error {
	known := st.DB.KnownReport()
	if st.DB.MustRelist() || st.Reports.LastReport() <= known || st.Reports.MayLackLast() {
		return nil
	}
	lacks, newest := false, time.Time{}
	err := st.Reports.StandingAfter(known, func(s ledger.Standing) error {
		lacks = lacks || st.DB.Lacks(s.Set, s.Revoked, s.At)
		if s.At.After(newest) {
			newest = s.At
		}
		return nil
	})
	if err != nil { // no reason not to start: the reports that can be read are as they were
		log.Error("whether the filters have all reports of the ledger is not known", "error", err)
	}
	if !lacks {
		return nil
	}
	log.Warn("the state folder lacks reports of its ledger: it is an older copy, or its journal has lost its end; never-list, retouches and mutes may be older, too",
		"known", known, "last", st.Reports.LastReport())
	return st.DB.LackReports(newest)
}

// Relist lists the reports of the ledger in a database that may lack them: under a federation key
// that is new here, in a new database, in an older copy of one, after the end of the journal was lost, and
// after an interrupted repair. It calls progress every few seconds. If it is interrupted, the next start
// does it again.
func (st *State) Relist(log *slog.Logger, progress func()) error {
	if err := st.findLost(log); err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: err}
	}
	if !st.DB.MustRelist() {
		return nil
	}
	full, told := 0, time.Now()
	begin := told
	progress()
	listed, revoked, err := restoreAll(st.Reports, func(s ledger.Standing) (bool, error) {
		if time.Since(told) > relistStep {
			told = time.Now()
			progress()
		}
		kept, err := st.DB.Relist(s.Set, bloomdb.Class(s.Class), s.Revoked, s.At, turnsOf(s.Turns))
		if errors.Is(err, bloomdb.ErrFull) {
			full++
			return false, nil
		}
		return kept, err
	})
	if err == nil {
		err = st.DB.Relisted()
	}
	if err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: err}
	}
	log.Info("reports of the ledger are listed again: the federation key or the database is new, an older copy or without the end of its journal, or a repair was interrupted",
		"reports", listed, "revocations", revoked, "seconds", time.Since(begin).Seconds())
	if full > 0 {
		log.Warn("reports of the ledger are not listed: reports.capacity is too small", "reports", full)
	}
	return nil
}
