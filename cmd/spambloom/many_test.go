package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// cmdMails: mails N FOLDER FIRST writes N messages that are not alike, with the texts FIRST
// and following, one of each day from 2026-01-01 on, and FOLDER.mbox with all of them.
func cmdMails(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	number, err := strconv.Atoi(args[2])
	ts.Check(err)
	folder := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(folder, 0o700))
	var mbox strings.Builder
	for i := range n {
		date := time.Date(2026, 1, 1+i, 12, 0, 0, 0, time.UTC).Format(time.RFC1123Z)
		message := "Subject: many\nDate: " + date + "\n\n" + distinctText(number+i) + "\n"
		ts.Check(os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.eml", i+1)), []byte(message), 0o600))
		mbox.WriteString("From a@example.org Fri Nov 20 12:00:00 2026\n" + message + "\n")
	}
	ts.Check(os.WriteFile(folder+".mbox", []byte(mbox.String()), 0o600))
}

// distinctText returns 14 words that no other number has.
func distinctText(n int) string {
	var words []string
	for i := range 14 {
		word := []byte("w")
		for h := uint32(n*1000+i)*2654435761 + 1; h > 0; h /= 20 {
			word = append(word, "bcdfghjklmnpqrstvwxz"[h%20])
		}
		words = append(words, string(word))
	}
	return strings.Join(words, " ")
}

func TestDateOf(t *testing.T) {
	for value, want := range map[string]string{
		"Fri, 20 Nov 2026 12:00:00 +0100":        "2026-11-20T11:00:00Z",
		" Fri, 20 Nov\n 2026 12:00:00 +0100 (X)": "2026-11-20T11:00:00Z",
		"20 Nov 26 12:00 GMT":                    "2026-11-20T12:00:00Z",
		"yesterday":                              "0001-01-01T00:00:00Z",
		"Fri, 20 Nov 1026 12:00:00 +0100":        "0001-01-01T00:00:00Z",
	} {
		if got := dateOf(signature.Message{Header: []signature.Field{{Name: "date", Value: value}}}).Format(time.RFC3339); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

// The total has each outcome once, and each reason for a refusal.
func TestTotal(t *testing.T) {
	sum := newTotal()
	if got := sum.describe(); got != "0 messages: 0 refused" {
		t.Error(got)
	}
	for _, p := range []parcel{
		{receipt: api.Receipt{Known: true}}, {}, {queued: client.ErrUnavailable}, {receipt: api.Receipt{Idle: true}}, {},
	} {
		sum.add(nil, outcomeOf(p))
	}
	for _, err := range []error{
		fmt.Errorf("a.eml: %w", bloomdb.ErrNothing), fmt.Errorf("b.eml: %w", bloomdb.ErrNothing), fmt.Errorf("ls: %w", signature.ErrNoHeader),
		&verb.InputError{Err: os.ErrPermission}, fmt.Errorf("c.eml: %w", api.NewProblem(409, "the message is on the never-list")),
		newRefusal("", errNoSpam, ""), client.ErrUnavailable, // which stops the work
	} {
		sum.add(err, "")
	}
	want := "11 messages: 2 accepted, 1 known before, 1 queued, 1 with nothing to revoke, 6 refused (1 cannot be read, 1 not an e-mail message: no header, " +
		"1 the feedback report declares the message not spam, 1 the message is on the never-list, 2 too little content to sign)"
	if got := sum.describe(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
