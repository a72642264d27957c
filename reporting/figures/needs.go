package figures

// Need is a kind of thing that needs somebody. The metric spambloom_needs has its key in the
// label "kind", and so has the JSON of status.
type Need struct {
	Key   string
	Words string // for people
}

// Keys of the kinds of needs.
const (
	NeedJudging    = "judging"
	NeedReports    = "reports"
	NeedControl    = "control"
	NeedConfig     = "configuration"
	NeedRedis      = "redis"
	NeedStrangers  = "strangers"
	NeedSites      = "sites"
	NeedDamaged    = "damaged"
	NeedClock      = "clock"
	NeedTraps      = "traps"
	NeedClients    = "clients"
	NeedState      = "state"
	NeedHistory    = "history"
	NeedMistakes   = "mistakes"
	NeedFilterFull = "filter_full"
	NeedLedgerFull = "ledger_full"
	NeedContested  = "contested"
	NeedMail       = "no_mail"
)

// Needs lists all kinds of things that need somebody, those first that stop the work.
var Needs = []Need{
	{NeedJudging, "mail is not judged"},
	{NeedReports, "reports cannot be written"},
	{NeedControl, "nobody can use the control socket"},
	{NeedConfig, "the configuration file is not in use"},
	{NeedRedis, "no connection to Redis"},
	{NeedStrangers, "sites at the same Redis that cannot be heard"},
	{NeedSites, "sites whose reports are missing here"},
	{NeedDamaged, "damaged files that are not used"},
	{NeedClock, "the clock jumped and is not trusted"},
	{NeedTraps, "spam traps that are not read"},
	{NeedClients, "users or clients that were refused for too many connections"},
	{NeedState, "snapshots of the filters cannot be written"},
	{NeedHistory, "counts by hour are not kept"},
	{NeedMistakes, "the filters are too full for the target of mistakes"},
	{NeedFilterFull, "filters without room, so that reports or counts are refused"},
	{NeedLedgerFull, "the ledger has no room, so that reports are refused"},
	{NeedContested, "messages about which users disagree, and held reports"},
	{NeedMail, "no mail has arrived for 24 hours"},
}
