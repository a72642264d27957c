package main

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/version"
)

// databaseCollector exports the database's status to Prometheus. Generations are labels;
// expired ones disappear at the next scrape.
type databaseCollector struct{ db *bloomdb.DB }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("spambloom_db_"+name, help, labels, nil)
}

var (
	buildInfo    = prometheus.NewDesc("spambloom_build_info", "Always 1; the version is in the label.", []string{"version"}, nil)
	dbFill       = describe("filter_fill_ratio", "Share of bits or cells in use, for all sites.", "filter", "generation")
	dbError      = describe("filter_error_ratio", "Probability that an absent key is found.", "filter", "generation")
	dbFilterSize = describe("filter_memory_bytes", "Memory of one generation of a filter.", "filter", "generation")
	dbMasked     = describe("masked_positions", "Bits hidden by retouches.", "generation")
	dbLost       = describe("masked_listings_lost", "Estimated number of reported signatures hidden by masked bits.", "generation")
	dbBurstFill  = describe("burst_fill_ratio", "Fill of the burst counter's fullest filter; it stops counting at 0.5.")
	dbBurstSize  = describe("burst_memory_bytes", "Memory of the burst counter.")
	dbNever      = describe("never_messages", "Messages on the never-list.")
	dbSpared     = describe("never_spared_total", "Judgements that would have been spam without the never-list.")
	dbMemory     = describe("memory_bytes", "Memory of all filters and parts.")
	dbJournal    = describe("journal_bytes", "Size of the journal since the last snapshot.")
	dbFault      = describe("journal_fault", "1 while the journal cannot be written.")
	dbDamaged    = describe("damaged_files", "Damaged files set aside and not removed yet.")
	dbClock      = describe("clock_jump_seconds", "How far the clock is ahead while it is not trusted; negative if behind, 0 if trusted.")
	dbPerMail    = describe("error_per_mail_ratio", "Probability that an unreported message is judged spam.")
	dbSequence   = describe("site_sequence", "Last delta made by this site, or applied from another.", "origin")
	dbCells      = describe("site_cells", "Bits and cells held from a site.", "origin")
	dbGaps       = describe("site_gaps_total", "Deltas of a site that were never seen.", "origin")
)

func (databaseCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, dbFill, dbError, dbFilterSize, dbMasked, dbLost, dbBurstFill, dbBurstSize, dbNever, dbSpared, dbMemory, dbJournal, dbFault, dbDamaged, dbClock, dbPerMail, dbSequence, dbCells, dbGaps} {
		ch <- d
	}
}

func (c databaseCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := c.db.Status()
	gauge(buildInfo, 1, version.String())
	gauge(dbMemory, float64(s.Memory))
	gauge(dbJournal, float64(s.Journal))
	gauge(dbPerMail, s.ErrorPerMail)
	fault := 0.0
	if s.Error != "" {
		fault = 1
	}
	gauge(dbFault, fault)
	gauge(dbDamaged, float64(len(s.Damaged)))
	ahead := 0.0
	if s.Clock != nil {
		ahead = s.Clock.Ahead
	}
	gauge(dbClock, ahead)
	if s.Burst != nil {
		gauge(dbBurstFill, s.Burst.Fill)
		gauge(dbBurstSize, float64(s.Burst.Memory))
	}
	gauge(dbNever, float64(s.Never.Entries))
	ch <- prometheus.MustNewConstMetric(dbSpared, prometheus.CounterValue, float64(s.Never.Spared))
	for _, f := range s.Filters {
		generation := strconv.FormatInt(f.Generation, 10)
		gauge(dbFill, f.Fill, f.Kind, generation)
		gauge(dbError, f.Error, f.Kind, generation)
		gauge(dbFilterSize, float64(f.Memory), f.Kind, generation)
		if f.Kind == "spam" {
			gauge(dbMasked, float64(f.Masked), generation)
			gauge(dbLost, f.Lost, generation)
		}
	}
	c.collectSites(ch, s)
}

// collectSites exports one value for each site, which has a status for each epoch: the number of
// the latest epoch, which comes first, and sums of the rest. Prometheus refuses two values with
// the same labels, and with them all metrics.
func (databaseCollector) collectSites(ch chan<- prometheus.Metric, s bloomdb.Status) {
	for i, site := range s.Sites {
		if i > 0 && s.Sites[i-1].Site == site.Site {
			continue
		}
		cells, gaps := int64(0), uint64(0)
		for _, epoch := range s.Sites[i:] {
			if epoch.Site != site.Site {
				break
			}
			cells, gaps = cells+epoch.Cells, gaps+epoch.Gaps
		}
		ch <- prometheus.MustNewConstMetric(dbSequence, prometheus.GaugeValue, float64(site.Seq), site.Site)
		ch <- prometheus.MustNewConstMetric(dbCells, prometheus.GaugeValue, float64(cells), site.Site)
		ch <- prometheus.MustNewConstMetric(dbGaps, prometheus.CounterValue, float64(gaps), site.Site)
	}
}
