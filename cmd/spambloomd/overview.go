package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/history"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/watch"
)

// openHistory opens the counters by hour, which are read from the metrics of milter and
// desk.
func (d *service) openHistory() {
	counted := prometheus.NewRegistry()
	counted.MustRegister(d.milter.Collectors()...)
	counted.MustRegister(d.desk.Collectors()...)
	d.history = history.Open(history.Options{
		Dir:  filepath.Join(d.started.Data, "history"),
		Read: func() (map[string]float64, error) { return figures.Read(counted) },
		Now:  d.db.Now,
		Log:  d.log,
	})
	d.begun = d.db.Now()
	if most, err := d.started.MostMemory(); err == nil {
		d.mostMemory = most
	}
}

// overview returns what status and the page show first.
func (d *service) overview(s api.Status) *overview.Overview {
	now := d.db.Now()
	f := d.inUse(s, now)
	f.Sites, f.Traps, f.Exchange = d.desk.Sites(d.links()), map[string]string{}, d.exchange != nil
	f.History, f.Damaged = d.history.Fault(), d.history.Damaged()
	if fault := d.milter.Fault(); fault != nil {
		f.Judging = fault.Error()
	}
	if d.exchange != nil {
		status := d.exchange.Status()
		f.Connected, f.LastError, f.Notes = status.Connected && status.Fault == nil, redisFault(status), d.peerNotes(status)
	}
	if fault := d.reloadFault.Load(); fault != nil {
		f.Reload = *fault
	}
	for name, t := range d.trapStatus() {
		f.Traps[name] = t.Fault
	}
	if lockout, all := d.door.Lockout(); all {
		f.LockedOut = lockout
	} else if lockout != "" {
		f.Lockouts = append(f.Lockouts, lockout)
	}
	if d.remote != nil {
		if lockout, _ := d.remote.Lockout(); lockout != "" {
			f.Lockouts = append(f.Lockouts, lockout)
		}
	}
	o := watch.Make(f, now)
	o.Resident, o.MostMemory = residentMemory(), d.mostMemory
	return o
}

// inUse returns the facts about what the site is used for.
func (d *service) inUse(s api.Status, now time.Time) watch.Facts {
	day := now.Truncate(time.Hour).Add(-23 * time.Hour)
	d.history.Take()
	return watch.Facts{
		Status: s, Contested: d.contested(),
		LastDay:   history.Sum(d.history.Hours(day, now)),
		DayBefore: history.Sum(d.history.Hours(day.Add(-24*time.Hour), day)),
		Started:   d.begun, TargetError: d.started.Reports.MaxErrorPerMail,
	}
}

// useNotes are notes for /readyz about what the site is used for. They take a look at up to a
// thousand reports, and all who reach the port may ask, so they are made at most every useFor.
type useNotes struct {
	mu    sync.Mutex
	at    time.Time
	notes []string
}

const useFor = 10 * time.Second

func (u *useNotes) ask(d *service) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.at.IsZero() && time.Since(u.at) < useFor {
		return u.notes
	}
	u.at, u.notes = time.Now(), nil
	s, err := d.desk.Status()
	if err != nil {
		return nil
	}
	now := d.db.Now()
	for _, need := range d.inUse(s, now).InUse(now) {
		u.notes = append(u.notes, "in use: "+need.Text)
	}
	return u.notes
}

// contested returns the messages about which users disagree, at most five. A fault of the
// ledger is shown elsewhere.
func (d *service) contested() (list []watch.Contested) {
	campaigns, err := d.desk.ContestedCampaigns()
	if err != nil {
		return nil
	}
	for _, c := range campaigns[:min(len(campaigns), 5)] {
		list = append(list, watch.Contested{ID: c.ID, Reports: c.Reports, Revocations: c.Revocations, Listed: c.Listed, Held: c.Held, Mails: c.Like.Mails})
	}
	return list
}

// residentMemory returns the memory of this process in bytes; 0 where the system does not
// say (only Linux has the file).
func residentMemory() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// historyFault is 1 while counts by hour are not written.
func (d *service) historyFault() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spambloom_history_fault", Help: "1 while counts by hour cannot be written.",
	}, func() float64 {
		if d.history.Fault() != nil {
			return 1
		}
		return 0
	})
}
