package bloomdb

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/judging"
	"github.com/spambloom/spambloom/signature"
)

// Sender is where a message comes from, as far as this site has proof.
type Sender struct {
	From    string // registrable domain of From that this site's verifier proved; "": not proved
	Network string // of the client: any form that is the same each time
}

// name returns the name under which the sender's mail is learned.
func (s Sender) name() string {
	if s.From != "" {
		return s.From
	}
	return s.Network
}

// Learn records a message that arrived at a time and was not reported, unless its evidence e lists
// it, or would without its sender or the never-list: what many senders' mail contains is no evidence (package
// commonness). Call it after Judge: otherwise the message would count in its own favour. It is a
// change in memory; a crash loses that of ten minutes.
func (db *DB) Learn(set signature.Set, s Sender, e judging.Evidence, at time.Time) {
	if e.Listed || len(e.Spared) > 0 || e.Never || db.ks.Closed.Load() {
		return
	}
	for _, ks := range db.keys {
		ks.Learn(set, commonness.Mail{Sender: s.name(), From: s.From, At: at})
	}
}
