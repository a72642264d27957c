package main

import (
	"hash/maphash"
	"net"
	"os"

	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/server"
)

// milterOptions returns the options of the milter, which remembers what it judges.
func (d *service) milterOptions(s *settings.Settings) milter.Options {
	o := s.MilterOptions(d.started.Name, d.log)
	o.Judged, o.UserOf = d.remember, tcpUser
	return o
}

// tcpUser returns the user of this machine who connected over TCP, by number: names may take
// long to look up, and mail waits.
func tcpUser(conn net.Conn) (user string, ordinary bool) {
	if uid, ok := server.UserOf(conn); ok {
		return server.UIDName(uid), isOrdinary(uid)
	}
	return "", false
}

// firstOrdinary is the lowest number of an ordinary user. Those below are root's and daemons', such as a mail server's.
const firstOrdinary = 1000

// isOrdinary reports whether a user is no daemon's, nor that of this daemon, whoever runs it.
func isOrdinary(uid int) bool { return uid >= firstOrdinary && uid != os.Geteuid() }

// remember adds a message to those that were judged lately. Sketches and link domains are
// kept only of mail that matches a report: nothing else can be revoked. An ordinary user's mail
// is not found by an id: it could have that of another message, or push all others out.
func (d *service) remember(j milter.Judgement) {
	set := j.Set
	if j.Listed {
		d.rememberHashes(d.listed, j)
	} else {
		d.rememberHashes(d.unlisted, j)
		set.Sketches, set.Domains, set.Carried = nil, nil, 0
	}
	if j.IsUsers {
		d.ordinary.Do(func() {
			d.log.Warn("mail comes over TCP from an ordinary user of this machine, who is not taken for a mail server: its queue ids, proofs and clients are not believed; if it is one, let it use the unix socket (postfix.md, TCP; spamd.md)")
		})
		return
	}
	d.judged.Add(judged.Message{At: d.db.Now(), QueueID: j.QueueID, Verdict: string(j.Verdict), Shown: j.Shown, Set: set, Spared: j.Spared})
}

// senders hashes the senders of mail, differently in each process.
var senders = maphash.MakeSeed()

// rememberHashes adds a message to those that are found by a report. Only hashes are kept.
func (d *service) rememberHashes(of *judged.Hashes, j milter.Judgement) {
	m := judged.Seen{At: d.db.Now(), Sender: maphash.String(senders, j.Sender), Copies: j.Copies, Known: d.db.Knows(j.From), Set: j.Set}
	for _, s := range j.Set.Sketches {
		if anchors := d.db.Anchors(s); len(anchors) > 0 {
			m.Anchors = append(m.Anchors, anchors)
		}
	}
	of.Add(m)
}
