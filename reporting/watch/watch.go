// Package watch looks at the facts about all parts of a site, and makes the overview from
// them: one sentence, and what needs somebody, each with the command for it. It collects
// nothing itself: the daemon passes the facts. It never says "ok" while something is stale.
package watch

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/overview"
)

// Facts are what an overview is made of.
type Facts struct {
	Status  api.Status
	Sites   []api.Site        // this site first
	Judging string            // why mail is not judged; empty: it is
	Traps   map[string]string // fault of each spam trap, by name; empty: none

	Exchange   bool     // sites are connected through Redis
	Connected  bool     // to Redis
	Connecting bool     // to Redis, for the first time, within Settling
	LastError  string   // of Redis
	Cause      string   // of LastError, such as lost; see CausesAtRedis
	Notes      []string // sentences about sites at the same Redis that cannot be heard, and why

	Contested []Contested

	Config    string   // path of the configuration file; empty: there is none
	Folder    string   // path of the state folder
	Reload    string   // why the configuration file is not in use; empty: it is
	Unserved  []string // addresses of the configuration that were in use at the start
	LockedOut string   // why nobody can use the control socket; empty: it can be used
	Lockouts  []string // users or clients with too many connections
	Unsaved   error    // why snapshots of the filters cannot be written, although reports can
	History   error    // why counts are not kept
	Damaged   []string // files of the history that were set aside

	LastDay, DayBefore map[string]uint64
	Started            time.Time
	TargetError        float64
}

// Settling is the time after the start of the daemon, or after the first news of a site, within
// which the connection to Redis is made and the site's records arrive. Until then it is no fault
// that they have not.
const Settling = time.Minute

// CausesAtRedis are the causes of a fault of Redis at which it is connected, with the words for
// them. All others keep this site from connecting.
var CausesAtRedis = map[string]string{
	"lost":    "Redis has lost data",
	"memory":  "Redis has no memory left",
	"disk":    "Redis cannot write to its disk",
	"rights":  "Redis refuses commands of this site",
	"loading": "Redis is still reading its data",
	"busy":    "Redis runs a script that does not end",
	"replica": "Redis is a replica",
}

// maxContested bounds the contested messages that are named.
const maxContested = 3

// maxNamed bounds the sites that are named: a holder of the federation key can invent some.
const maxNamed = 8

// Contested is a message that different users call spam and wanted, or of which a report is held.
type Contested struct {
	ID                   string
	Reports, Revocations int
	Listed               bool
	Held                 bool
	Mails                uint64 // for which it is held
}

// Make returns the overview of these facts.
func Make(f Facts, now time.Time) *overview.Overview {
	o := &overview.Overview{
		State: overview.OK, Needs: f.needs(now), LastDay: f.LastDay, DayBefore: f.DayBefore,
		Started: f.Started, TargetError: f.TargetError,
	}
	for _, n := range o.Needs {
		if n.IsFault {
			o.State = overview.Fault
		} else if o.State == overview.OK {
			o.State = overview.Attention
		}
	}
	o.Sentence = f.judging() + " " + f.heard(now) + " " + needed(o.Needs)
	return o
}

func (f Facts) judging() string {
	if f.Judging != "" {
		return "Mail passes unchecked."
	}
	return "Judging."
}

// heard counts the other sites that this one receives records from.
func (f Facts) heard(now time.Time) string {
	trusted, heard, ignored := 0, 0, 0
	var last time.Time
	for _, s := range f.Sites {
		switch s.State {
		case api.StateDropped, api.StateMuted:
			ignored++
			continue
		case api.StateSelf, api.StateIgnored:
			continue
		case api.StateHeard, api.StateLoading, api.StateCapped:
			heard++
		}
		trusted++
		if s.Link != nil && s.Heard != nil && s.Heard.After(last) {
			last = *s.Heard
		}
	}
	switch {
	case !f.Exchange:
		return "This site works alone."
	case f.Connecting:
		return "Connecting to Redis."
	case !f.Connected && last.IsZero():
		return f.noRedis() + "."
	case !f.Connected:
		return fmt.Sprintf("%s; another site was last heard %s.", f.noRedis(), overview.Ago(last, now))
	case trusted == 0 && ignored > 0:
		return "No other site is in use; muted or dropped: " + count(ignored, "site") + "."
	case trusted == 0:
		return "No other site is known yet."
	case heard == 0 && trusted == 1 && last.IsZero():
		return "The other site has not been heard."
	case heard == 0 && last.IsZero():
		return fmt.Sprintf("None of the %d other sites has been heard.", trusted)
	case heard == 0:
		return fmt.Sprintf("No other site is heard; the last one was %s.", overview.Ago(last, now))
	case last.IsZero():
		return fmt.Sprintf("%d of %d sites heard.", heard, trusted)
	}
	return fmt.Sprintf("%d of %d sites heard, the last %s.", heard, trusted, overview.Ago(last, now))
}

// noRedis says why nothing is exchanged through Redis.
func (f Facts) noRedis() string { return cmp.Or(CausesAtRedis[f.Cause], "No connection to Redis") }

func needed(needs []overview.Need) string {
	switch len(needs) {
	case 0:
		return overview.NoNeed
	case 1:
		return "One thing needs you."
	}
	return fmt.Sprintf("%d things need you.", len(needs))
}

// needs lists what needs somebody, faults first.
func (f Facts) needs(now time.Time) []overview.Need {
	needs := []overview.Need{} // never nil: it is a list in JSON
	for _, need := range slices.Concat(f.faults(), f.unconnected(), SiteNeeds(f.Sites, f.Started, now), f.impaired(), f.InUse(now)) {
		need.Text = overview.Line(need.Text)
		needs = append(needs, need)
	}
	return needs
}

// faults lists what keeps mail from being judged or reports from being written.
func (f Facts) faults() (needs []overview.Need) {
	fault := func(kind, text, command string) {
		needs = append(needs, overview.Need{Kind: kind, Count: 1, Text: text, Command: command, IsFault: true})
	}
	if f.Judging != "" {
		fault(figures.NeedJudging, ended("Mail is not judged: "+f.Judging), "journalctl -u spambloom")
	}
	for _, err := range []string{f.Status.Database.Error, f.Status.Reports.Error} {
		if err != "" {
			fault(figures.NeedReports, ended("Reports cannot be written: "+err), "spambloom fsck")
		}
	}
	if f.LockedOut != "" {
		fault(figures.NeedControl, ended(f.LockedOut), "journalctl -u spambloom")
	}
	return needs
}

// unconnected lists what keeps this site from its new configuration and from other sites.
func (f Facts) unconnected() (needs []overview.Need) {
	need := func(kind, text, command, page string) {
		needs = append(needs, overview.Need{Kind: kind, Count: 1, Text: text, Command: command, Page: page})
	}
	if f.Reload != "" {
		need(figures.NeedConfig, "The configuration file is not in use: "+strings.TrimSuffix(f.Reload, ".")+". The daemon runs with the previous configuration.", "spambloomd -t -c "+quoted(f.Config), "")
	}
	for _, address := range f.Unserved {
		need(figures.NeedConfig, address+" was in use by another program when the daemon started, so nothing is served there. The milter judges mail. Free the address, then restart the daemon.", "systemctl restart spambloom", "")
	}
	if f.Exchange && !f.Connected && !f.Connecting {
		need(figures.NeedRedis, f.noRedis()+colon(strings.TrimPrefix(f.LastError, f.Cause+": "))+". Mail is judged by what is known here; own changes wait on disk.", "spambloom sites", "/sites")
	}
	for _, note := range f.Notes {
		need(figures.NeedStrangers, note+".", "spambloom sites", "/sites")
	}
	return needs
}

// impaired lists what is damaged or not trusted here, and what cannot be read or kept.
func (f Facts) impaired() (needs []overview.Need) {
	need := func(kind, text, command string) {
		needs = append(needs, overview.Need{Kind: kind, Count: 1, Text: text, Command: command})
	}
	db := f.Status.Database
	damaged := db.Damaged
	if db.Previous != nil {
		damaged = append(slices.Clone(damaged), db.Previous.Damaged...)
	}
	for _, d := range damaged {
		what := d.Name + " is damaged and not used"
		if d.Name == "reports.db.damaged" { // possibly an empty mark
			what = "reports.db was damaged, missing or an older copy. It was repaired, and is used; remove " + d.Name + " when you no longer need it"
		}
		need(figures.NeedDamaged, fmt.Sprintf("%s. Missing: %s.", what, d.Cost), "spambloom fsck")
	}
	if c := db.Clock; c != nil {
		need(figures.NeedClock, fmt.Sprintf("The clock jumped by %s and is not trusted; nothing expires until %s.", time.Duration(c.Ahead*float64(time.Second)).Round(time.Second), c.Believed.UTC().Format("2006-01-02 15:04 UTC")), "timedatectl")
	}
	for name, err := range f.Traps {
		if err != "" {
			need(figures.NeedTraps, fmt.Sprintf("Mail in the trap %s is not read: %s.", name, err), "journalctl -u spambloom")
		}
	}
	for _, text := range f.Lockouts {
		need(figures.NeedClients, ended(text), "journalctl -u spambloom")
	}
	if f.Unsaved != nil {
		need(figures.NeedState, "Snapshots of the filters cannot be written: "+f.Unsaved.Error()+". The journal keeps all reports, and grows.", "journalctl -u spambloom")
	}
	if f.History != nil {
		need(figures.NeedHistory, "Counts by hour are not kept: "+f.History.Error()+".", "journalctl -u spambloom")
	}
	for _, name := range f.Damaged {
		need(figures.NeedDamaged, "history/"+name+" is damaged and not used. Missing: the counts of that month, until the file was set aside.", "rm "+quoted(filepath.Join(f.Folder, "history", name)))
	}
	return needs
}

// InUse lists what needs somebody although all parts work: what is full, messages about which
// users disagree, and a mail server that sends nothing.
func (f Facts) InUse(now time.Time) (needs []overview.Need) {
	need := func(kind, text, command, page string) {
		needs = append(needs, overview.Need{Kind: kind, Count: 1, Text: text, Command: command, Page: page})
	}
	db := f.Status.Database
	if f.TargetError > 0 && db.ErrorPerMail > f.TargetError {
		need(figures.NeedMistakes, fmt.Sprintf("The filters are too full: %s is called spam by mistake; the target is %s.", overview.OneIn(db.ErrorPerMail), overview.OneIn(f.TargetError)), "spambloom status --filters", "/filters")
	}
	for _, filter := range db.Filters {
		if filter.Full {
			need(figures.NeedFilterFull, fmt.Sprintf("The filter %q is full: what does not fit is refused until its next period begins. A larger reports.capacity, equal at all sites, has room.", filter.Kind), "spambloom status --filters", "/filters")
		}
	}
	if f.Status.Reports.Full {
		need(figures.NeedLedgerFull, "The ledger of reports is full: reports are refused until old ones expire.", "spambloom reporters", "/reporters")
	}
	for _, c := range f.Contested[:min(len(f.Contested), maxContested)] {
		need(figures.NeedContested, c.text(), "spambloom reports --contested", "/campaigns?q="+url.QueryEscape(c.ID))
	}
	if more := len(f.Contested) - maxContested; more > 0 {
		need(figures.NeedContested, fmt.Sprintf("Also contested or held: %s.", count(more, "message")), "spambloom reports --contested", "/campaigns?only=contested")
		needs[len(needs)-1].Count = more
	}
	if day := f.LastDay; day != nil && figures.Judged(day)+figures.NotJudged(day) == 0 && now.Sub(f.Started) > time.Hour {
		need(figures.NeedMail, "No mail has arrived for 24 hours. Does the mail server use the milter?", "postconf smtpd_milters", "")
	}
	return needs
}

func (c Contested) text() string {
	if c.Held {
		return fmt.Sprintf("A report is held: it would hit %s that nobody else reported. To release it, settle it as spam; to refuse it, as wanted. The message is %s.", count(int(c.Mails), "mail"), c.ID)
	}
	now := "not called spam"
	if c.Listed {
		now = "called spam"
	}
	return fmt.Sprintf("Your users disagree about a message: %s, %s. It is %s now. The message is %s.", count(c.Reports, "report"), count(c.Revocations, "revocation"), now, c.ID)
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return overview.Thousands(uint64(n)) + " " + thing + "s"
}

// SiteNeeds lists the sites whose reports are missing here, and why. The daemon has run since
// started.
func SiteNeeds(sites []api.Site, started, now time.Time) (needs []overview.Need) {
	need := func(text string, n int) {
		needs = append(needs, overview.Need{Kind: figures.NeedSites, Count: n, Text: text, Command: "spambloom sites", Page: "/sites"})
	}
	found := 0
	for _, s := range sites {
		text := ""
		switch s.State {
		case api.StateSilent:
			if IsExpected(s, started, now) {
				continue
			}
			text = fmt.Sprintf("%s has not been heard", s.Site)
			if s.Link != nil && s.Heard != nil {
				text += " since " + s.Heard.UTC().Format("2006-01-02 15:04 UTC")
			} else {
				text += " since the start"
			}
			text += ". Its newest reports are missing here."
		case api.StateStale:
			text = fmt.Sprintf("%s runs on an older state folder; its records are refused. If that lasts for minutes, read its data anew: spambloom drop %[1]s && spambloom mute --undo %[1]s.", s.Site)
		case api.StateClock:
			text = fmt.Sprintf("The clock of %s is off by %.1f h; its records wait.", s.Site, s.SkewSeconds/3600)
		case api.StateCapped:
			text = fmt.Sprintf("%s is over its cap; its records are refused until the period ends.", s.Site)
		default:
			if s.State != api.StateHeard || !s.IsBehind() {
				continue
			}
			text = fmt.Sprintf("Some reports of %s are missing here: its records have %s. Its next snapshot has them.", s.Site, count(int(s.Gaps), "gap"))
		}
		if found++; found <= maxNamed {
			need(text, 1)
		}
	}
	if found > maxNamed {
		need(fmt.Sprintf("%d other sites need attention as well.", found-maxNamed), found-maxNamed)
	}
	return needs
}

// IsExpected reports whether a silent site needs nobody yet, because its first record may still
// arrive. The daemon has run since started.
func IsExpected(s api.Site, started, now time.Time) bool {
	if s.State != api.StateSilent {
		return false
	}
	if s.Link != nil && s.Heard != nil {
		return false
	}
	if s.Link != nil && s.Known.After(started) {
		started = s.Known
	}
	return now.Sub(started) < Settling
}

// quoted makes a path one word of a shell.
func quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+", r)
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// ended ends a sentence with a full stop.
func ended(text string) string { return strings.TrimSuffix(text, ".") + "." }

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(text, ".")
}
