package layout

import (
	"log/slog"
	"time"
)

// Settings are the options that all parts of a keyspace use. They do not change.
type Settings struct {
	Dir  string // the folder of the keyspace
	Site string // this site's name

	Reports ReportOptions
	Counts  CountOptions
	Domains DomainOptions

	Votes    int  // as Options.Votes
	Exchange bool // as Options.Exchange

	Log *slog.Logger
	Now func() time.Time
}
