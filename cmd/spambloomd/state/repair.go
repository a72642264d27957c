package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// Repair restores the state folder of a daemon that refuses to start. It prints its changes
// and what is lost, and finally opens the folder like the daemon.
//
//	keys -> ledger -> database -> data of the ledger, into the database -> start
func Repair(s *settings.Settings, log *slog.Logger, stdout io.Writer) error {
	if _, err := os.Stat(s.Data); err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: fmt.Errorf("state folder: %w", err)}
	}
	if err := refuseNewer(s); err != nil {
		return err
	}
	r := repairing{s: s, log: log, out: stdout}
	for _, step := range []func() error{r.keys, r.ledger, r.database, r.verify} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// repairing is a repair in progress.
type repairing struct {
	s    *settings.Settings
	log  *slog.Logger
	out  io.Writer
	done int
	// isLedgerDamaged is set once the ledger was mended: the filters may know better.
	isLedgerDamaged bool
}

// tell prints one change.
func (r *repairing) tell(path, fault, did, lost string) {
	r.done++
	fmt.Fprintf(r.out, "%s: %s\n  %s\n", path, fault, did)
	if lost != "" {
		fmt.Fprintf(r.out, "  lost: %s\n", lost)
	}
}

// keys corrects key files that differ in one byte from the keys of the folder.
func (r *repairing) keys() error {
	for _, path := range []string{r.s.KeyFile, r.s.PreviousKeyFile} {
		if path == "" {
			continue
		}
		key, err := keyring.ReadKey(path)
		if err = checkDamagedKey(r.s, path, key, err); !errors.Is(err, ErrDamagedKey) {
			continue // the start reports other faults
		}
		key, _ = keyring.MendKey(path, idsFor(r.s, path))
		if err := keyring.ReplaceKey(path, key); err != nil {
			return &exit.Failure{Code: exit.IOErr, Err: err}
		}
		r.tell(path, "one byte was wrong", "the federation key is "+keyring.ID(key)+" again", "")
	}
	key, err := keyring.ReadSigningKey(r.s.SigningKeyFile)
	public := ""
	if err == nil {
		public = keyring.PublicKey(key)
	}
	if err = checkDamagedSigningKey(r.s, public, err); !errors.Is(err, ErrDamagedKey) {
		return nil
	}
	key, _ = keyring.MendSigningKey(r.s.SigningKeyFile, repair.FolderSigners(r.s.Data))
	if err := keyring.ReplaceSigningKey(r.s.SigningKeyFile, key); err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: err}
	}
	r.tell(r.s.SigningKeyFile, "one byte was wrong", "the site's key is "+keyring.PublicKey(key)+" again", "")
	return nil
}

func (r *repairing) ledger() error {
	o := r.s.LedgerOptions(r.log)
	if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	done, err := ledger.Repair(o)
	switch {
	case err != nil:
		return &exit.Failure{Code: exit.IOErr, Err: err}
	case len(done.Faults) > 0:
		r.isLedgerDamaged = true
		r.tell(o.Path, done.Faults[0].Error(),
			fmt.Sprintf("copied %d reports of %d reporters into a new ledger, %d of them from detached pages, and recounted %d messages; %s is the old one",
				done.Reports, done.Reporter, done.Rescued, done.Tallies, filepath.Base(done.Damaged)),
			lostReports(done))
	}
	return nil
}

// lostReports describes the reports that a repair of the ledger did not find.
func lostReports(done ledger.Repaired) string {
	if done.Unsure {
		return "possibly other reports: their number is unknown. Recently deleted reports may have returned"
	}
	return fmt.Sprintf("the reporters of %d reports", done.Lost)
}

// database repairs filters, journal and identity, and restores from the ledger.
func (r *repairing) database() error {
	options, err := openKeys(r.s, r.log)
	if err != nil {
		return err
	}
	db, done, err := bloomdb.Repair(options)
	if err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: err}
	}
	for _, d := range done {
		r.tell(d.Path, d.Fault, "kept the undamaged data", d.Lost)
	}
	for _, f := range db.DamagedFiles() {
		r.tell(f.Name, "damaged", "no longer used; remove it when you no longer need it", f.Cost)
	}
	if err = errors.Join(r.restore(db, len(done) > 0), db.Close()); err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: err}
	}
	return nil
}

// restore lists and revokes in the filters the reports of the ledger, if the filters may lack some:
// files were mended, now or in a repair that was interrupted, or the ledger is newer. Otherwise the
// filters know better than the ledger, which has no word of other sites. Existing entries stay.
func (r *repairing) restore(db *bloomdb.DB, isMended bool) error {
	reports, err := openLedger(r.s, r.log)
	if err != nil {
		return err
	}
	path := r.s.LedgerOptions(r.log).Path
	err = db.AddCompanion(path, reports.LastReport, func(fault error) error {
		r.tell(path, fault.Error(), "used as it is", "who reported what since the copy was made. The filters have these reports")
		return folder.LeaveMark(path)
	})
	if err != nil {
		return errors.Join(err, reports.Close())
	}
	if !isMended && !r.isLedgerDamaged {
		if err := (&State{DB: db, Reports: reports}).findLost(r.log); err != nil {
			return errors.Join(err, reports.Close())
		}
	}
	if !isMended && !db.MustRelist() {
		fmt.Fprintln(r.out, "the filters have the reports of the ledger")
		return reports.Close()
	}
	listed, revoked, err := restoreAll(reports, func(s ledger.Standing) (bool, error) {
		return db.Restore(s.Set, bloomdb.Class(s.Class), s.Revoked, s.At, turnsOf(s.Turns))
	})
	if err == nil {
		err = db.Relisted()
	}
	fmt.Fprintf(r.out, "restored from the ledger: %d reports, %d revocations\n", listed, revoked)
	return errors.Join(err, reports.Close())
}

// verify opens the folder like the daemon, and reads all of it.
func (r *repairing) verify() error {
	st, err := Open(r.s, r.log)
	if err != nil {
		return err
	}
	err = errors.Join(st.DB.CheckFiles(), st.Reports.Check())
	if err = errors.Join(err, st.Close()); err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: err}
	}
	if r.done == 0 {
		fmt.Fprintln(r.out, "nothing is damaged")
	}
	return nil
}

// turnsOf returns the turns of signatures, as the database has them.
func turnsOf[S comparable](of map[S][]ledger.Turn) map[S][]bloomdb.Turn {
	all := map[S][]bloomdb.Turn{}
	for s, turns := range of {
		for _, turn := range turns {
			all[s] = append(all[s], bloomdb.Turn(turn))
		}
	}
	return all
}

// restoreAll gives all reports and revocations of a ledger to restore. It returns how many of them were
// kept.
func restoreAll(reports *ledger.Ledger, restore func(ledger.Standing) (kept bool, err error)) (listed, revoked int, err error) {
	err = reports.Standing(func(s ledger.Standing) error {
		kept, err := restore(s)
		switch {
		case kept && s.Revoked:
			revoked++
		case kept:
			listed++
		}
		return err
	})
	return listed, revoked, err
}
