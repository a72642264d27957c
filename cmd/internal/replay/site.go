package replay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

const (
	reportPeriod = 168 * time.Hour
	reportKeep   = 5
	countPeriod  = 24 * time.Hour

	minCapacity = 1000
	// exchangeEvery is the number of messages after which counts are sent to the other
	// sites; reports are sent at once.
	exchangeEvery = 64
)

// site is one mail server's database.
type site struct {
	db  *bloomdb.DB
	opt bloomdb.Options
}

// sites are the sites of a run, with a common clock.
type sites struct {
	all    []*site
	follow bool // the clock follows the messages
	now    time.Time
	opened time.Time // time by the clock
	order  []int     // in which a round of messages is dealt
	news   bool      // there are reports that the other sites have not received
}

// openSites creates the databases. Their filters have the sizes that an administrator would
// choose for this amount of mail, so that error rates are realistic and no memory is
// wasted.
func openSites(messages []Message, o Options, random *rand.Rand) (*sites, error) {
	s := &sites{follow: o.Clock, now: firstTime(messages)}
	s.opened = s.now
	var key [32]byte
	for i := range key {
		key[i] = byte(random.Uint32())
	}
	reports, counts := capacities(messages, o.Clock)
	for i := range o.Sites {
		s.order = append(s.order, i)
		name := fmt.Sprintf("site%d", i+1)
		one := &site{opt: bloomdb.Options{
			Dir: filepath.Join(o.Dir, name), Site: name, Key: key,
			Reports:  bloomdb.ReportOptions{Period: reportPeriod, Keep: reportKeep, Capacity: reports, NoCommonness: o.NoCommonness},
			Counts:   bloomdb.CountOptions{Period: countPeriod, Capacity: counts},
			Exchange: o.Sites > 1,
			Now:      func() time.Time { return s.now },
		}}
		if err := one.open(); err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.all = append(s.all, one)
	}
	return s, nil
}

func (s *site) open() (err error) {
	if s.db, err = bloomdb.Open(s.opt); err != nil || !s.opt.Exchange {
		return err
	}
	return s.db.Resume(s.db.Head())
}

// firstTime returns the initial time of the clock.
func firstTime(messages []Message) time.Time {
	if len(messages) > 0 && !messages[0].Time.IsZero() {
		return messages[0].Time
	}
	return time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
}

// capacities returns the reports in all generations, if each is like the fullest one, and
// the messages of the fullest day. Each report belongs to a message, so a week has no more
// reports than messages.
func capacities(messages []Message, clock bool) (reports, counts int64) {
	weeks, days := make(map[int64]int64), make(map[int64]int64)
	var spam int64
	for _, m := range messages {
		var week, day int64
		if clock {
			week, day = m.Time.Unix()/int64(reportPeriod/time.Second), m.Time.Unix()/int64(countPeriod/time.Second)
		}
		weeks[week]++
		days[day]++
		reports, counts = max(reports, weeks[week]), max(counts, days[day])
		if m.Spam {
			spam++
		}
	}
	return max(minCapacity, reportKeep*min(reports, spam)), max(minCapacity, counts)
}

// learn feeds a message of an archive of wanted mail to all sites. What cannot be learned is left out.
func (s *sites) learn(m *Message) error {
	for _, one := range s.all {
		_, err := one.db.LearnArchived(m.Set, m.From, s.timeOf(m))
		if err != nil && !errors.Is(err, bloomdb.ErrNothing) && !errors.Is(err, bloomdb.ErrLearned) && !errors.Is(err, bloomdb.ErrLearning) {
			return err
		}
	}
	return nil
}

// timeOf returns when a message arrived, which decides the day on which it is learned. It need not
// be the time of the clock, which may stand still.
func (s *sites) timeOf(m *Message) time.Time {
	if m.Time.IsZero() {
		return s.now
	}
	return m.Time
}

// advance sets the clock, which never goes back. Databases keep expired data for a while by
// a clock of their own: they are closed and opened again before that is much.
func (s *sites) advance(t time.Time) error {
	if !s.follow || !t.After(s.now) {
		return nil
	}
	s.now = t
	if t.Sub(s.opened) < reportKeep*reportPeriod {
		return nil
	}
	s.opened = t
	for _, one := range s.all {
		if err := one.db.Close(); err != nil {
			return fmt.Errorf("state of %s: %w", one.opt.Site, err)
		}
		if err := one.open(); err != nil {
			return err
		}
	}
	return nil
}

// deal returns the site at which a message arrives: each gets one message of every round.
func (s *sites) deal(i int, random *rand.Rand) *site {
	at := i % len(s.order)
	if at == 0 {
		random.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	}
	return s.all[s.order[at]]
}

// exchange passes each site's deltas to all others.
func (s *sites) exchange(i int) error {
	if len(s.all) == 1 || !s.news && i%exchangeEvery != 0 {
		return nil
	}
	s.news = false
	for _, from := range s.all {
		if err := s.publish(from); err != nil {
			return err
		}
	}
	return nil
}

func (s *sites) publish(from *site) error {
	for {
		d, more, err := from.db.NextDelta(true)
		if err != nil || !more {
			return err
		}
		for _, to := range s.all {
			if err := to.db.Apply(d.Data, bloomdb.Next); err != nil {
				return fmt.Errorf("at %s: %w", to.opt.Site, err)
			}
		}
		if err := from.db.Published(d); err != nil {
			return err
		}
	}
}

// close closes the databases and removes their state.
func (s *sites) close() error {
	var errs error
	for _, one := range s.all {
		errs = errors.Join(errs, one.db.Close(), os.RemoveAll(one.opt.Dir))
	}
	return errs
}
