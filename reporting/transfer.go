package reporting

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// The state of a site, moved to another machine:
//
//	Export: the ledger, then the site's own filters -> one stream
//	Import: the stream, whole, in a file -> ledger checked -> filters joined
//	        -> ledger joined -> what has the quorum only now is listed
//
// The filters come first, as they refuse what is of another federation; to import again
// after a fault does no harm.

// Transferred is what came of an import.
type Transferred struct {
	From      ExportHead       `json:"from"`
	Reports   int64            `json:"reports"`             // that were not known
	Known     int64            `json:"known"`               // that had been taken before
	Old       int64            `json:"old"`                 // that are past their time, and were left out
	Reporters int64            `json:"reporters"`           // that were not known
	Decisions int64            `json:"decisions,omitempty"` // messages that were listed, or revoked, by it
	Filters   *FiltersImported `json:"filters,omitempty"`   // absent: they were left out
}

// FiltersImported is a bloomdb.Imported on the wire.
type FiltersImported struct {
	Joined        int   `json:"joined"`                    // filters
	Bits          int64 `json:"bits"`                      // that were not set
	Counts        int64 `json:"counts"`                    // that were lower
	Never         int   `json:"never"`                     // new on the never-list
	Retouched     int   `json:"retouched"`                 // signatures that are retouched now
	Aged          int   `json:"aged"`                      // filters of periods that are over
	CountsLeftOut bool  `json:"counts_left_out,omitempty"` // as other sites have counted the mail already
}

// Export writes this site's state, for Import. It takes the memory of some frames;
// reports go on meanwhile. Errors are those of w, of the disk, or bloomdb.ErrClosed.
func (d *Desk) Export(w io.Writer, version string) error {
	status := d.db.Status()
	x, err := newExportWriter(w, ExportHead{Site: status.Site, KeyID: status.KeyID, Made: d.db.Now().UTC(), Version: version})
	if err != nil {
		return err
	}
	x.section(sectionLedger)
	sum, err := d.ledger.Export(x)
	if err != nil {
		return err
	}
	x.section(sectionFilters)
	if err := d.db.ExportOwn(x); err != nil {
		return err
	}
	if err := x.close(); err != nil {
		return err
	}
	d.log.Info("state exported", "reports", sum.Reports, "reporters", sum.Reporters)
	return nil
}

// Import joins an export of Export into this site's state, for good when it returns nil.
// Open begins the export once more. Its errors wrap ErrExport or ledger.ErrExport where
// the stream is at fault; nothing is taken then, nor after one of bloomdb.DB.ImportOwn or
// ledger.ErrFull. After an error of the disk a part may be, and the import is to be
// repeated. With reportsOnly the filters are left out, and what has the quorum by reports
// of this period is listed anew: for another federation.
func (d *Desk) Import(open func() io.Reader, reportsOnly bool) (t Transferred, err error) {
	x, err := newExportReader(open())
	if err != nil {
		return t, err
	}
	if err := x.rest(); err != nil {
		return t, err
	}
	t.From = x.Head
	o := d.importOptions(open, x.Head)
	o.Relist = reportsOnly
	if err := d.ledger.CheckImport(o); err != nil {
		return t, err
	}
	if !reportsOnly {
		if t.Filters, err = d.importFilters(open); err != nil {
			return t, err
		}
	}
	sum, err := d.ledger.Import(o)
	d.overdue.Store(true)
	if err != nil {
		return t, err
	}
	t.Reports, t.Known, t.Old, t.Reporters, t.Decisions = sum.Reports, sum.Known, sum.Old, sum.Reporters, sum.Due
	if err := d.carryOutDue(); err != nil {
		return t, err
	}
	d.log.Info("state imported", "site", t.From.Site, "made", t.From.Made, "reports", t.Reports, "known", t.Known, "old", t.Old,
		"reporters", t.Reporters, "decisions", t.Decisions, "filters", !reportsOnly)
	return t, nil
}

func (d *Desk) importOptions(open func() io.Reader, head ExportHead) ledger.ImportOptions {
	now := d.db.Now()
	return ledger.ImportOptions{
		Open: func() (io.Reader, error) {
			x, err := newExportReader(open())
			if err != nil {
				return nil, err
			}
			return x.section(sectionLedger), nil
		},
		Now: now, Period: d.period(now), CheckText: CheckReporter,
		OtherKey: head.KeyID != d.db.Status().KeyID,
	}
}

// importFilters joins the filters of an export, behind its ledger.
func (d *Desk) importFilters(open func() io.Reader) (*FiltersImported, error) {
	x, err := newExportReader(open())
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, x.section(sectionLedger)); err != nil {
		return nil, err
	}
	in, err := d.db.ImportOwn(bufio.NewReaderSize(x.section(sectionFilters), maxFrame))
	if err != nil {
		return nil, err
	}
	return &FiltersImported{
		Joined: in.Filters, Bits: in.Bits, Counts: in.Cells, Never: in.Never,
		Retouched: in.Retouched, Aged: in.Aged, CountsLeftOut: in.CountsLeftOut,
	}, nil
}

// importProblem is the answer to an import that failed.
func importProblem(err error, head ExportHead) *Problem {
	switch {
	case errors.Is(err, ErrExport), errors.Is(err, ledger.ErrExport):
		return newProblem(http.StatusUnprocessableEntity, "%v; nothing was imported", err)
	case errors.Is(err, bloomdb.ErrFederation):
		return newProblem(http.StatusConflict, "the export of %s is of another federation: %v; nothing was imported", head, err)
	case errors.Is(err, bloomdb.ErrParameters), errors.Is(err, bloomdb.ErrClock):
		return newProblem(http.StatusConflict, "%v; nothing was imported", err)
	}
	return problemOf(err)
}

// String names an export in messages.
func (h ExportHead) String() string {
	return fmt.Sprintf("%s of %s (federation key %s)", h.Site, h.Made.UTC().Format(time.RFC3339), h.KeyID)
}
