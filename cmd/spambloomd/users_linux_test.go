package main

import (
	"net"
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/reporting/judged"
)

// The user of a TCP connection is ordinary from number 1000 on, so nobody is, too. Mail servers connect as root or a
// daemon's user.
func TestOrdinaryUsers(t *testing.T) {
	testenv.Root(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	defer ln.Close()
	for uid, want := range map[int]bool{0: false, 105: false, 999: false, 1000: true, 65534: true, 100_000: true} {
		dialled, release := make(chan error), make(chan struct{})
		go asUser(uid, func() {
			conn, err := net.Dial("tcp", ln.Addr().String())
			dialled <- err
			<-release
			if err == nil {
				conn.Close()
			}
		})
		testenv.Check(t, <-dialled)
		conn, err := ln.Accept()
		testenv.Check(t, err)
		name, inMilter := tcpUser(conn)
		spamdName, inSpamd := peerName(conn)
		if name == "" || spamdName == "" || inMilter != want || inSpamd != want {
			t.Errorf("user %d: %q is ordinary: %v, %q: %v, want %v", uid, name, inMilter, spamdName, inSpamd, want)
		}
		conn.Close()
		close(release)
	}
	if isOrdinary(os.Geteuid()) {
		t.Error("the daemon's own user is ordinary")
	}
}

// TestUserForgesNoQueueID is the attack "revoke another mail": a local user sends a spam under the queue id of a
// newsletter, for which an administrator asks, after as much mail as is remembered. Only what the mail server sent is found.
func TestUserForgesNoQueueID(t *testing.T) {
	d, _ := monitored(t)
	d.judged, d.listed, d.unlisted = judged.New(d.db.Now(), 1<<12), judged.NewHashes(1<<12), judged.NewHashes(1<<12)
	d.remember(milter.Judgement{QueueID: "4XyZ1", Verdict: "clean"})
	for range 100 {
		d.remember(milter.Judgement{QueueID: "4XyZ1", Verdict: "spam", Listed: true, Copies: 1, IsUsers: true})
	}
	found := d.judged.Find(10, func(m *judged.Message) bool { return m.QueueID == "4XyZ1" })
	if len(found) != 1 || found[0].Verdict != "clean" {
		t.Errorf("found %+v", found)
	}
}
