package publisher

import "time"

const (
	// coalesce is how long a report waits for others made at the same time, and reportPause
	// the least time between two publications of reports: a delta costs some 200 bytes and
	// two disk writes.
	coalesce    = 100 * time.Millisecond
	reportPause = 200 * time.Millisecond

	// countRate is how many bytes of counts a second are published without a longer wait. A
	// site with 20 messages a second has less than 1 KiB. Counts repeated during the wait
	// are published once.
	countRate = 16 << 10
)

// schedule determines when data is published. The zero times are long past.
type schedule struct {
	least, most time.Duration // between publications of counts

	reports     time.Time // when reports are published; zero: none wait
	lastReports time.Time
	counts      time.Time
	beat        time.Time
}

// reported records that a report waits.
func (s *schedule) reported(now time.Time) {
	if !s.reports.IsZero() {
		return
	}
	s.reports = now.Add(coalesce)
	if earliest := s.lastReports.Add(reportPause); s.reports.Before(earliest) {
		s.reports = earliest
	}
}

func (s *schedule) reportsDue(now time.Time) bool {
	return !s.reports.IsZero() && !now.Before(s.reports)
}
func (s *schedule) countsDue(now time.Time) bool    { return !now.Before(s.counts) }
func (s *schedule) heartbeatDue(now time.Time) bool { return !now.Before(s.beat) }

func (s *schedule) reportsDone() { s.reports = time.Time{} }

// reportsAgain records that the waiting reports were published, and that further ones may
// have arrived meanwhile.
func (s *schedule) reportsAgain(now time.Time) {
	s.reports, s.lastReports = now.Add(reportPause), now
}

// countsDone records that the waiting counts were published, and their size. The next time
// is chosen so that the rate is countRate.
func (s *schedule) countsDone(now time.Time, bytes int) {
	wait := time.Duration(bytes) * time.Second / countRate
	s.counts = now.Add(min(max(wait, s.least), s.most))
}

// earliest returns the next time that data is due.
func (s *schedule) earliest() time.Time {
	first := s.counts
	if s.beat.Before(first) {
		first = s.beat
	}
	if !s.reports.IsZero() && s.reports.Before(first) {
		first = s.reports
	}
	return first
}
