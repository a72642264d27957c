package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
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
