package pagetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/judged"
)

const (
	bulkFrom  = 20 // sightings, as by default
	exchanged = 15 * time.Minute
)

// replay is some days of mail at a site and two others of its federation. The letters and
// their order are those of archives. How many copies of each arrive, when, at which site, which
// recipients report them, and who is mistaken, is drawn with a fixed seed. All else is what the
// program does: every copy is judged, counted and listed by the databases of the three sites.
type replay struct {
	*Site
	t       testing.TB
	length  time.Duration
	draw    *rand.Rand
	all     map[string]*bloomdb.DB
	hour    time.Time
	counts  map[string]uint64 // of the hour
	coming  []event           // arrivals, the earliest first
	pending []event           // what people will do, the earliest first
}

type event struct {
	at time.Time
	do func()
}

func byTime(a, b event) int { return a.at.Compare(b.at) }

// NewReplay returns a site that has worked for some time with the mail of archives, from Now on.
func NewReplay(t testing.TB, length time.Duration, archives ...[]Letter) *Site {
	options := func(site string) bloomdb.Options {
		o := desktest.Options(t.TempDir())
		o.Site, o.Exchange = site, true
		o.Reports.Capacity, o.Counts.Capacity = 50_000, 200_000
		return o
	}
	stage := desktest.OpenJoined(t, options("mx1"), desktest.TwoNeeded)
	stage.Unlisted = judged.NewHashes(16 << 20)
	s := newSite(t, stage, desk.Options{Joined: true, HoldFrom: 20})
	s.Links = []api.Link{{Site: "mx2"}, {Site: "mx3", Lag: 1, LagSeconds: 2}}
	r := &replay{Site: s, t: t, length: length, draw: rand.New(rand.NewPCG(22, 30)), all: map[string]*bloomdb.DB{"mx1": s.DB}, hour: Now.Truncate(time.Hour), counts: map[string]uint64{}}
	for _, name := range []string{"mx2", "mx3"} {
		o := options(name)
		o.Now = s.now
		r.all[name] = bloomdbtest.Open(t, o)
	}
	for _, letters := range archives {
		for i := range letters {
			r.send(&letters[i], (float64(i)+r.draw.Float64())/float64(len(letters)))
		}
	}
	slices.SortStableFunc(r.coming, byTime)
	r.run()
	return s
}

// send draws when copies of a letter arrive, and where. The first one arrives in a part of the
// replay.
func (r *replay) send(l *Letter, part float64) {
	at := Now.Add(time.Duration(part * float64(r.length)))
	most := 40.0 // copies
	switch {
	case l.IsSpam:
		most = 150
	case r.draw.IntN(25) == 0: // a newsletter
		most = 600
	}
	for range int(math.Pow(most, r.draw.Float64()*r.draw.Float64())) {
		site, copied := "mx1", at.Add(time.Duration(r.draw.ExpFloat64()*float64(90*time.Minute)))
		if l.IsSpam {
			site = []string{"mx1", "mx1", "mx2", "mx3"}[r.draw.IntN(4)]
		} else {
			copied = r.atWork(copied)
		}
		r.coming = append(r.coming, event{copied, func() { r.arrive(copied, site, l) }})
	}
}

// atWork moves most of what was written at night to the hours of work of the same day.
func (r *replay) atWork(at time.Time) time.Time {
	if hour := at.Hour(); (hour < 7 || hour > 18) && r.draw.IntN(4) > 0 {
		at = at.Add(time.Duration(8+r.draw.IntN(9)-hour) * time.Hour)
	}
	return at
}

// run lets the mail arrive, people act, and the sites exchange records, in their order.
func (r *replay) run() {
	end := Now.Add(r.length)
	for now := Now; now.Before(end); now = now.Add(exchanged) {
		if hour := now.Truncate(time.Hour); hour.After(r.hour) {
			r.Count(r.hour.Add(30*time.Minute), r.counts)
			r.hour, r.counts = hour, map[string]uint64{}
		}
		for e, ok := r.next(now); ok; e, ok = r.next(now) {
			r.Clock.Store(e.at.Unix())
			e.do()
		}
		r.exchange()
	}
	r.Clock.Store(end.Unix())
	r.Count(end, r.counts)
}

// next takes the earliest event until now.
func (r *replay) next(now time.Time) (e event, ok bool) {
	from := &r.coming
	if len(r.pending) > 0 && (len(r.coming) == 0 || r.pending[0].at.Before(r.coming[0].at)) {
		from = &r.pending
	}
	if len(*from) == 0 || (*from)[0].at.After(now) {
		return e, false
	}
	e, *from = (*from)[0], (*from)[1:]
	return e, true
}

// exchange brings what each site reported to the other ones.
func (r *replay) exchange() {
	for from, db := range r.all {
		deltas := bloomdbtest.Drain(r.t, db)
		for to, other := range r.all {
			if to != from {
				bloomdbtest.Apply(r.t, other, deltas...)
			}
		}
	}
}

// arrive judges and counts a copy at its site. A recipient may report it.
func (r *replay) arrive(at time.Time, site string, l *Letter) {
	db := r.all[site]
	verdict := db.Judge(l.Set)
	if site == "mx1" {
		r.note(at, l, verdict)
	}
	if err := db.Count(l.Set, 1); err != nil {
		r.t.Fatal(err)
	}
	switch {
	case len(l.Set.Signatures) == 0 || verdict.Listed:
	case l.IsSpam && r.draw.IntN(4) == 0:
		r.later(at, 3*time.Hour, func() { r.report(site, l) })
	case !l.IsSpam && r.draw.IntN(1500) == 0:
		r.later(at, 3*time.Hour, func() { r.mistake(at, l) })
	}
}

// later lets people act within some time.
func (r *replay) later(at time.Time, within time.Duration, do func()) {
	e := event{at.Add(10*time.Minute + time.Duration(r.draw.Float64()*float64(within))), do}
	i, _ := slices.BinarySearchFunc(r.pending, e, byTime)
	r.pending = slices.Insert(r.pending, i, e)
}

// note adds a verdict of this site to its figures.
func (r *replay) note(at time.Time, l *Letter, v bloomdb.Evidence) {
	verdict := figures.Clean
	switch {
	case len(l.Set.Signatures) == 0:
		r.counts[figures.Skipped]++
		r.counts["skipped_little"]++
		return
	case v.Listed:
		verdict = figures.Spam
		r.noteSites(v)
	case v.Count >= bulkFrom:
		verdict = figures.Bulk
	}
	r.counts[verdict]++
	r.judgeFrom(l.Sender, at, fmt.Sprintf("4fXk%07xz", r.draw.Uint32N(1<<28)), verdict, l.Set)
}

// noteSites counts spam that is only known from other sites, as the milter does.
func (r *replay) noteSites(v bloomdb.Evidence) {
	var sites []string
	for _, match := range v.Matches {
		if !match.Revoked {
			sites = append(sites, match.Sites...)
		}
	}
	slices.Sort(sites)
	if sites = slices.Compact(sites); len(sites) == 0 || slices.Contains(sites, "mx1") {
		return
	}
	r.counts[figures.SpamOthers]++
	for _, site := range sites {
		r.counts[figures.FromSite+":"+site]++
	}
}

var users = []string{"anna", "bert", "carla@example.org", "dora", "emil", "fatma", "georg", "hanna@example.org", "ivan", "jule"}

// report reports a letter: at this site in the name of a user or of the trap, at others
// without.
func (r *replay) report(site string, l *Letter) {
	if site != "mx1" {
		_ = r.all[site].Report(l.Set, l.Class) // refused, such as a file that is no message
		return
	}
	name := users[r.draw.IntN(len(users))]
	if r.draw.IntN(5) == 0 {
		name = "trap:lure"
	}
	before := r.DB.Judge(l.Set).Listed
	r.enter(figures.Reports)(r.Site.Report(desk.Report{Set: l.Set, Reporter: name, Class: l.Class, Trap: desk.IsTrap(name), Trusted: desk.IsTrap(name)}))
	if !before && r.DB.Judge(l.Set).Listed {
		r.counts[figures.Listed]++
	}
}

// mistake is the report of wanted mail, which another user revokes, and which an administrator
// settles on the day after.
func (r *replay) mistake(at time.Time, l *Letter) {
	i := r.draw.IntN(len(users))
	r.enter(figures.Reports)(r.Site.Report(desk.Report{Set: l.Set, Reporter: users[i]}))
	r.later(at.Add(3*time.Hour), 5*time.Hour, func() {
		r.enter(figures.Revoked)(r.Revoke(desk.Report{Set: l.Set, Reporter: users[(i+1)%len(users)]}))
	})
	r.later(at.Add(24*time.Hour), 5*time.Hour, func() {
		r.enter(figures.Revoked)(r.Settle(desk.Report{Set: l.Set}, desk.SettleWanted, desk.Author{Name: "root", Origin: Root}))
	})
}

// enter counts what users do under a key, or as refused.
func (r *replay) enter(key string) func(desk.Outcome, error) {
	return func(_ desk.Outcome, err error) {
		if err != nil {
			key = figures.Refused
		}
		r.counts[key]++
	}
}
