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
	"github.com/spambloom/spambloom/reporting/figures/kept"
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
		Read: func() (map[string]float64, error) { return kept.Read(counted) },
		Now:  d.db.Now,
		Log:  d.log,
	})
	d.begun = d.db.Now()
	if most, err := d.started.MostMemory(); err == nil {
		d.mostMemory = most
	}
	if most, err := d.started.MostDisk(); err == nil {
		d.mostDisk = most
	}
}

// overview returns what status and the page show first.
func (d *service) overview(s api.Status) *overview.Overview {
	now := d.db.Now()
	o := watch.Make(d.watched(s, now), now)
	o.Resident, o.MostMemory, o.MostDisk = residentMemory(), d.mostMemory, d.mostDisk
	return o
}

// watched returns the facts of which an overview is made.
func (d *service) watched(s api.Status, now time.Time) watch.Facts {
	day := now.Truncate(time.Hour).Add(-23 * time.Hour)
	d.history.Take()
	f := watch.Facts{
		Status: s, Contested: d.contested(),
		LastDay:   history.Sum(d.history.Hours(day, now)),
		DayBefore: history.Sum(d.history.Hours(day.Add(-24*time.Hour), day)),
		Started:   d.begun, TargetError: d.started.Reports.MaxErrorPerMail,
		Config: d.started.File, Folder: d.started.Data,
	}
	f.Sites, f.Traps, f.Exchange = d.desk.Sites(d.links()), map[string]string{}, d.exchange != nil
	if d.desk.Fault() == nil { // else that is named
		f.Unsaved = d.db.Unsaved()
	}
	f.History, f.Damaged = d.history.Fault(), d.history.Damaged()
	if fault := d.milter.Fault(); fault != nil {
		f.Judging = fault.Error()
	}
	if d.exchange != nil {
		status := d.exchanged()
		f.Connected, f.LastError, f.Notes = status.Connected && status.Fault == nil, redisFault(status), d.peerNotes(status)
		f.Connecting = d.isConnecting(status)
		if status.Fault != nil {
			f.Cause = string(status.Fault.Cause)
		}
	}
	if fault := d.reloadFault.Load(); fault != nil {
		f.Reload = *fault
	}
	f.Unserved = d.unserved
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
	return f
}

// lately is what needed somebody lately, for /metrics and /readyz. It takes a look at up to a
// thousand reports, and all who reach the port may ask, so it is made at most every latelyFor.
type lately struct {
	mu    sync.Mutex
	at    time.Time
	needs []overview.Need
	inUse []overview.Need // those of needs although all parts work
}

const latelyFor = 10 * time.Second

func (l *lately) ask(d *service) (needs, inUse []overview.Need) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < latelyFor {
		return l.needs, l.inUse
	}
	s, err := d.desk.Status()
	if err != nil {
		s.Reports.Error = err.Error()
	}
	now := d.db.Now()
	f := d.watched(s, now)
	l.at, l.needs, l.inUse = time.Now(), watch.Make(f, now).Needs, f.InUse(now)
	return l.needs, l.inUse
}

// contested returns the messages about which users disagree. A fault of the ledger is shown
// elsewhere.
func (d *service) contested() (list []watch.Contested) {
	campaigns, err := d.desk.ContestedCampaigns()
	if err != nil {
		return nil
	}
	for _, c := range campaigns {
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

var needsDesc = prometheus.NewDesc("spambloom_needs", "Things that need somebody, by kind; the page and spambloom status name each.", []string{"kind"}, nil)

// needsCollector exports the number of things of each kind that need somebody.
type needsCollector struct{ needs func() []overview.Need }

func (needsCollector) Describe(ch chan<- *prometheus.Desc) { ch <- needsDesc }

func (c needsCollector) Collect(ch chan<- prometheus.Metric) {
	counts := make(map[string]int)
	for _, n := range c.needs() {
		counts[n.Kind] += n.Count
	}
	for _, kind := range figures.Needs {
		ch <- prometheus.MustNewConstMetric(needsDesc, prometheus.GaugeValue, float64(counts[kind.Key]), kind.Key)
	}
}
