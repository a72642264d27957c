package bloomdb

import (
	"log/slog"
	"time"
)

// settings are the options that all parts of a keyspace go by. They do not change.
type settings struct {
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

func (o *Options) settings() *settings {
	return &settings{o.Dir, o.Site, o.Reports, o.Counts, o.Domains, o.Votes, o.Exchange, o.Log, o.Now}
}
