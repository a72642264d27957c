package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/history"
	"github.com/spambloom/spambloom/signature"
)

// letter is a message that signs.
func letter(n int) signature.Message {
	text := strings.Repeat("Dear friend, the meeting about garden number ", 6)
	return signature.Parse([]byte(fmt.Sprintf("Subject: x\r\n\r\n%s%d\r\n", text, n)))
}

// A full disk of the history costs history, never mail: mail is judged and counted, reports are
// written, /readyz answers 200 with a line about it, and the counts are there once there is room.
func TestFullDiskOfHistoryCostsNoMail(t *testing.T) {
	d, _ := monitored(t)
	d.serving.Store(true)
	disk := testenv.SmallDisk(t, "64k")
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	folder := filepath.Join(d.started.Data, "history")
	testenv.Check(t, os.RemoveAll(folder))
	testenv.Check(t, os.Symlink(disk, folder))
	d.openHistory()
	set := signature.Set{Signatures: []signature.Signature{{Kind: signature.KindText, Digest: signature.Digest{22}}}}
	if _, err := d.desk.Report(desk.Report{Set: set, Reporter: "anna", Class: bloomdb.ClassOther}); err != nil {
		t.Errorf("a report: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- d.milter.Serve("", ln) }()
	const mails = 5
	for range mails {
		sendMilter(t, ln.Addr().String(), harness.Text())
	}
	ended, end := context.WithCancel(t.Context())
	end()
	d.history.Run(ended) // writes once
	if !errors.Is(d.history.Fault(), syscall.ENOSPC) {
		t.Fatalf("the fault is %v", d.history.Fault())
	}
	if e := d.db.Judge(set); !e.Listed {
		t.Errorf("mail like the report is judged %+v", e)
	}
	if fault := d.milter.Fault(); fault != nil {
		t.Errorf("mail is not judged: %v", fault)
	}
	now := d.db.Now()
	if sum := history.Sum(d.history.Hours(now.Add(-2*time.Hour), now.Add(time.Second))); figures.Judged(sum) != mails {
		t.Errorf("counted in memory: %v", sum)
	}
	ready := httptest.NewRecorder()
	d.newHTTP().Handler.ServeHTTP(ready, monitorGet("/readyz"))
	if ready.Code != 200 || !strings.Contains(ready.Body.String(), "history: counts by hour are not kept: ") {
		t.Errorf("/readyz: %d %s", ready.Code, ready.Body)
	}
	testenv.Check(t, os.Remove(filler))
	d.history.Run(ended)
	if d.history.Fault() != nil {
		t.Errorf("with room: %v", d.history.Fault())
	}
	left := history.Open(history.Options{Dir: folder, Now: d.db.Now, Read: func() (map[string]float64, error) { return nil, nil }})
	if sum := history.Sum(left.Hours(now.Add(-2*time.Hour), now.Add(time.Minute))); figures.Judged(sum) != mails || sum[figures.Reports] != 1 {
		t.Errorf("after the next start: %v", sum)
	}
	testenv.Check(t, d.milter.Shutdown(t.Context()))
	testenv.Check(t, <-served)
}

// BenchmarkHistory shows what the history costs, beside a mail that is signed and judged: an
// operation of "minute" is all that the history does in a minute, whatever the mail: six readings
// of the counters, and one file, which the disk is waited for. None of it is done in a mail's turn.
func BenchmarkHistory(b *testing.B) {
	d, _ := monitored(b)
	b.Run("minute", func(b *testing.B) {
		ended, end := context.WithCancel(b.Context())
		end()
		for range b.N {
			d.desk.Refuse("report") // a counter moves, so the file is written
			for range 5 {
				d.history.Take()
			}
			d.history.Run(ended)
		}
		if d.history.Fault() != nil {
			b.Fatal(d.history.Fault())
		}
	})
	b.Run("mail", func(b *testing.B) {
		for i := range b.N {
			d.db.Judge(d.milter.Sign(letter(i)))
		}
	})
}
