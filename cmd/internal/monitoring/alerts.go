package monitoring

import (
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/reporting/figures"
)

// alert is one alert. Sample is a series with values by minute at which it fires, for the
// test; until then it does not.
type alert struct {
	name, expr, wait, severity, summary, help string
	labels                                    string // of the alert that fires, as in the series
	series, values                            string
}

var alerts = []alert{
	{"SpambloomDown", `up{job="spambloom"} == 0`, "5m", "critical", "The daemon does not answer",
		"Mail passes unchecked while milter_default_action is accept. systemctl status spambloomd", `job="spambloom"`, `up{job="spambloom"}`, "0x20"},
	{"SpambloomMailNotJudged", `sum without (cause) (increase(spambloom_milter_failures_total{cause=~"overload|error|deadline"}[10m])) > 50`, "5m", "critical", "Many messages are not judged",
		"The log and spambloom status name the cause.", "", `spambloom_milter_failures_total{cause="overload"}`, "0+20x30"},
	{"SpambloomJudgingSuspended", `spambloom_milter_breaker == 1`, "5m", "critical", "Judging is suspended",
		"Mail passes unchecked, except for one probe message at a time. See the log.", "", "spambloom_milter_breaker", "1x20"},
	{"SpambloomReportsNotWritten", `spambloom_db_journal_fault == 1 or spambloom_ledger_fault == 1`, "5m", "critical", "Reports cannot be written",
		"The disk is full or broken: spambloom status.", "", "spambloom_ledger_fault", "1x20"},
	{"SpambloomNoMail", `sum without (verdict) (increase(spambloom_messages_total[6h])) == 0`, "1h", "warning", "No mail for six hours",
		"Does the mail server use the milter? postconf smtpd_milters", "", `spambloom_messages_total{verdict="clean"}`, "7x600"},
	{"SpambloomNoRedis", `spambloom_exchange_connected == 0`, "15m", "warning", "No connection to Redis",
		"Mail is judged by what is known here; own changes wait on disk.", "", "spambloom_exchange_connected", "0x40"},
	{"SpambloomSiteNotHeard", `spambloom_site_state{state=~"silent|stale|clock|capped"} == 1`, "15m", "warning", "Site {{ $labels.origin }} is {{ $labels.state }}",
		"Its reports are missing here: spambloom sites", `origin="mx2", state="silent"`, `spambloom_site_state{origin="mx2", state="silent"}`, "1x40"},
	{"SpambloomSiteBehind", `spambloom_exchange_lag_seconds > 300`, "10m", "warning", "Data of site {{ $labels.site }} waits for minutes",
		"spambloom sites shows what is missing.", `site="mx2"`, `spambloom_exchange_lag_seconds{site="mx2"}`, "400x40"},
	{"SpambloomFalsePositives", needs(figures.NeedMistakes), "30m", "warning", "The filters are too full",
		"More mail is called spam by mistake than reports.max_error_per_mail allows. Raise reports.capacity.", kind(figures.NeedMistakes), series(figures.NeedMistakes), "1x60"},
	{"SpambloomFilterFull", needs(figures.NeedFilterFull), "15m", "warning", "A filter is full",
		"What does not fit is refused until the next period: spambloom status --filters", kind(figures.NeedFilterFull), series(figures.NeedFilterFull), "1x40"},
	{"SpambloomLedgerFull", needs(figures.NeedLedgerFull), "15m", "warning", "The ledger of reports is full",
		"Reports are refused until old ones expire: spambloom reporters", kind(figures.NeedLedgerFull), series(figures.NeedLedgerFull), "1x40"},
	{"SpambloomContested", needs(figures.NeedContested), "4h", "info", "Messages wait for an administrator",
		"Users disagree about them, or a report is held: spambloom reports --contested", kind(figures.NeedContested), series(figures.NeedContested), "2x300"},
	{"SpambloomConfiguration", needs(figures.NeedConfig), "15m", "warning", "The configuration file is not in use",
		"The daemon runs with the previous configuration: spambloom status", kind(figures.NeedConfig), series(figures.NeedConfig), "1x40"},
	{"SpambloomStrangers", needs(figures.NeedStrangers), "15m", "warning", "A site at the same Redis is not heard",
		"Another federation key, or no [[peer]]: spambloom sites", kind(figures.NeedStrangers), series(figures.NeedStrangers), "1x40"},
	{"SpambloomRefusedClients", needs(figures.NeedClients), "15m", "info", "Users or clients have too many connections",
		"spambloom status names one. See the log.", kind(figures.NeedClients), series(figures.NeedClients), "1x40"},
	{"SpambloomLockedOut", needs(figures.NeedControl), "5m", "critical", "Nobody can use the control socket",
		"Reports wait in their queues. See the log.", kind(figures.NeedControl), series(figures.NeedControl), "1x20"},
	{"SpambloomDamagedFiles", `spambloom_db_damaged_files > 0`, "5m", "warning", "A damaged file was set aside",
		"spambloom status names it, and what is missing: contrib/state.md", "", "spambloom_db_damaged_files", "1x20"},
	{"SpambloomClock", `spambloom_db_clock_jump_seconds != 0`, "15m", "warning", "The clock jumped and is not trusted",
		"Nothing expires until the clock is right: contrib/state.md", "", "spambloom_db_clock_jump_seconds", "-7200x40"},
	{"SpambloomTrap", `spambloom_trap_fault == 1`, "15m", "warning", "The trap {{ $labels.trap }} is not read",
		"The log names the cause.", `trap="lure"`, `spambloom_trap_fault{trap="lure"}`, "1x40"},
	{"SpambloomStateNotSaved", needs(figures.NeedState), "15m", "warning", "Snapshots of the filters cannot be written",
		"The journal keeps all reports, and grows: spambloom status", kind(figures.NeedState), series(figures.NeedState), "1x40"},
	{"SpambloomHistory", `spambloom_history_fault == 1`, "30m", "info", "Counts by hour are not kept",
		"Mail is judged as usual: contrib/state.md", "", "spambloom_history_fault", "1x60"},
}

// needs is the expression of an alert about a kind of need.
func needs(kind string) string { return series(kind) + " > 0" }

func series(of string) string { return "spambloom_needs{" + kind(of) + "}" }

func kind(of string) string { return `kind="` + of + `"` }

// rules is the file of alerts.
func rules() string {
	var b strings.Builder
	b.WriteString("# Alerts of spambloom. Made by make generate; the job in Prometheus is called spambloom.\ngroups:\n- name: spambloom\n  rules:\n")
	for _, a := range alerts {
		fmt.Fprintf(&b, "  - alert: %s\n    expr: %s\n    for: %s\n    labels:\n      severity: %s\n    annotations:\n      summary: %q\n      description: %q\n",
			a.name, quoted(a.expr), a.wait, a.severity, a.summary, a.help)
	}
	return b.String()
}

func quoted(expr string) string { return "'" + strings.ReplaceAll(expr, "'", "''") + "'" }

// ruleTests is the file for promtool test rules: each alert fires at the end of its series,
// and none does at its begin.
func ruleTests() string {
	var b strings.Builder
	b.WriteString("# Tests of the alerts, for promtool test rules. Made by make generate.\nrule_files: [spambloom.rules.yml]\nevaluation_interval: 1m\ntests:\n")
	for _, a := range alerts {
		_, length, _ := strings.Cut(a.values, "x")
		labels := strings.Split(a.labels, ", ")
		expected := "severity: " + a.severity
		for _, l := range labels {
			if name, value, ok := strings.Cut(l, "="); ok {
				expected += ", " + name + ": " + value
			}
		}
		summary := a.summary
		for _, l := range labels {
			if name, value, ok := strings.Cut(l, "="); ok {
				summary = strings.ReplaceAll(summary, "{{ $labels."+name+" }}", strings.Trim(value, `"`))
			}
		}
		fmt.Fprintf(&b, "- interval: 1m\n  input_series:\n  - {series: '%s', values: '%s'}\n  alert_rule_test:\n  - {eval_time: 0m, alertname: %s}\n  - eval_time: %sm\n    alertname: %s\n    exp_alerts:\n    - exp_labels: {%s}\n      exp_annotations: {summary: %q, description: %q}\n",
			a.series, a.values, a.name, length, a.name, expected, summary, a.help)
	}
	return b.String()
}
