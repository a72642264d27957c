// Package figures is the table of what spambloom measures: every metric with its help, type
// and labels, and the counters that are kept for a year, with their words for people. The
// page, the commands status and top, the JSON of status, the metrics reference, the
// dashboard and the alerts are made from it.
//
// It owns no values: the packages that count register their own metrics, and a test of the
// daemon compares them with the table. Package kept reads the counters, and package history keeps
// them. This package does not use Prometheus' library, which would be a part of every command.
package figures

import "strings"

// Type is the type of a metric, as Prometheus calls it.
type Type string

// The types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Metric is one metric of the daemon.
type Metric struct {
	Name   string // without the prefix "spambloom_"
	Type   Type
	Help   string
	Labels []string // names; all metrics of database and exchange also have "key" during a key change
}

// Prefix begins the name of every metric of the table.
const Prefix = "spambloom_"

// Part is a group of metrics that belong together.
type Part struct {
	Title   string
	Metrics []Metric
}

// Count is a counter that is kept by hour. A daemon that starts again continues it.
type Count struct {
	// Key is its name in files and in JSON. If Each is set, a colon and the value of that
	// label follow.
	Key string
	// Metric is the name of its metric, with the prefix. Where are the labels that select
	// its series, which are added up.
	Metric string
	Where  map[string]string
	Each   string // a label, for each value of which there is a counter; empty: one counter

	Words string // for people
}

// Keys of the counts that programs refer to.
const (
	Clean      = "clean"
	Bulk       = "bulk"
	Spam       = "spam"
	Allowed    = "allowed"
	Skipped    = "skipped"
	Failed     = "failed"
	SpamOthers = "spam_by_others"
	FromSite   = "spam_from"
	Reports    = "reports"
	Revoked    = "revocations"
	Listed     = "listed"
	Refused    = "reports_refused"
	RefusedFor = "reports_refused_for"
)

// Kept lists the counters that are kept, in the order in which people read them.
var Kept = []Count{
	{Key: Clean, Metric: messages, Where: verdict("clean"), Words: "clean"},
	{Key: Bulk, Metric: messages, Where: verdict("bulk"), Words: "bulk"},
	{Key: Spam, Metric: messages, Where: verdict("spam"), Words: "spam"},
	{Key: Allowed, Metric: messages, Where: verdict("allowed"), Words: "allowed by a rule"},
	{Key: Skipped, Metric: messages, Where: verdict("skipped"), Words: "not judged on purpose"},
	{Key: Failed, Metric: messages, Where: verdict("failed"), Words: "not judged because of a fault"},

	{Key: SpamOthers, Metric: bySource, Where: label("source", "others"), Words: "only because another site reported it"},
	{Key: "spam_by_own", Metric: bySource, Where: label("source", "own"), Words: "because this site reported it"},
	{Key: "spam_by_both", Metric: bySource, Where: label("source", "both"), Words: "reported here and elsewhere"},
	{Key: FromSite, Metric: Prefix + "spam_by_site_total", Each: "origin", Words: "caught only because of other sites"},

	{Key: "skipped_authenticated", Metric: skipped, Where: label("reason", "authenticated"), Words: "authenticated"},
	{Key: "skipped_local", Metric: skipped, Where: label("reason", "local"), Words: "from local networks"},
	{Key: "skipped_little", Metric: skipped, Where: label("reason", "too-little-content"), Words: "too little content"},
	{Key: "skipped_oversize", Metric: skipped, Where: label("reason", "oversize"), Words: "too large"},

	{Key: "rejected", Metric: actions, Where: label("action", "reject"), Words: "rejected"},
	{Key: "quarantined", Metric: actions, Where: label("action", "quarantine"), Words: "quarantined"},
	{Key: "discarded", Metric: actions, Where: label("action", "discard"), Words: "discarded"},
	{Key: "deferred", Metric: actions, Where: label("action", "tempfail"), Words: "deferred"},

	{Key: Reports, Metric: reports, Where: label("action", "report"), Words: "reports accepted"},
	{Key: Revoked, Metric: reports, Where: label("action", "revoke"), Words: "revocations accepted"},
	{Key: Refused, Metric: Prefix + "reports_refused_total", Words: "reports and revocations refused"},
	{Key: RefusedFor, Metric: Prefix + "reports_refused_total", Each: "reason", Words: "reports and revocations refused, by reason"},
	{Key: Listed, Metric: Prefix + "decisions_total", Where: label("action", "list"), Words: "listings by reporters of this site"},
	{Key: "delisted", Metric: Prefix + "decisions_total", Where: label("action", "revoke"), Words: "effective revocations by reporters here"},

	{Key: "bytes", Metric: Prefix + "message_bytes_total", Words: "bytes of mail"},
}

const (
	messages = Prefix + "messages_total"
	bySource = Prefix + "spam_total"
	skipped  = Prefix + "skipped_total"
	actions  = Prefix + "actions_total"
	reports  = Prefix + "reports_total"
)

func verdict(v string) map[string]string         { return label("verdict", v) }
func label(name, value string) map[string]string { return map[string]string{name: value} }

// Words returns the words for a kept counter, and the label's value of one with Each.
func Words(key string) (words, of string) {
	base, of, _ := strings.Cut(key, ":")
	for _, c := range Kept {
		if c.Key == base {
			return c.Words, of
		}
	}
	return key, of
}

// Reasons are the words for why a report or a revocation was refused, by the metric's label.
var Reasons = map[string]string{
	"closing":            "the daemon was stopping",
	"full":               "the filters or the ledger are full",
	"never":              "declared never spam here",
	"no_header":          "no header of a message",
	"not_allowed":        "the user may not report",
	"off":                "learning from mail is off",
	"share":              "the reporter's share is used up",
	"storage":            "the disk cannot be written",
	"too_little_content": "too little content",
	"too_many":           "too many in one hour",
}

// Judged returns the number of judged messages among counts.
func Judged(counts map[string]uint64) uint64 {
	return counts[Clean] + counts[Bulk] + counts[Spam]
}

// NotJudged returns the number of messages that passed without a judgement.
func NotJudged(counts map[string]uint64) uint64 {
	return counts[Allowed] + counts[Skipped] + counts[Failed]
}

// Selector returns the series of a counter as Prometheus writes it.
func (c Count) Selector() string {
	for name, value := range c.Where {
		return c.Metric + `{` + name + `="` + value + `"}`
	}
	return c.Metric
}
