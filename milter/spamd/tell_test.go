package spamd_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/spamd"
	"github.com/spambloom/spambloom/signature"
)

// TELL passes the signatures of a message on, and neither judges nor counts it.
func TestTell(t *testing.T) {
	told := make(chan spamd.Tell, 1)
	s := start(t, milter.Options{}, spamd.Options{Tell: func(_ context.Context, _ net.Conn, t spamd.Tell) error {
		told <- t
		switch t.User {
		case "mallory":
			return &spamd.Error{Code: spamd.CodeNoPerm, Text: "mallory may\r\nnot do this"}
		case "broken":
			return errors.New("a secret")
		}
		return nil
	}})
	const report, revoke = "report", "revoke"
	for _, test := range []struct {
		headers string
		does    string // "": the command is refused
		want    string
	}{
		{"User: anna,Message-class: spam,Set: local", report, "SPAMD/1.1 0 EX_OK\r\nDidSet: local\r\nContent-length: 0\r\n\r\n"},
		{"Message-class: spam,Set: local; remote", "", "SPAMD/1.1 76 EX_PROTOCOL"},
		{"Message-class: spam,Set: remote", report, "SPAMD/1.1 0 EX_OK\r\nDidSet: remote\r\n"},
		{"Message-class: ham,Set: local", revoke, "SPAMD/1.1 0 EX_OK\r\nDidSet: local\r\n"},
		{"Message-class: ham,Set: local,Remove: remote", revoke, "SPAMD/1.1 0 EX_OK\r\nDidSet: local\r\nDidRemove: remote\r\n"},
		{"Remove: local", "", "SPAMD/1.1 69 EX_UNAVAILABLE: to forget a report is not possible"},
		{"Message-class: spam,Remove: remote", "", "SPAMD/1.1 76 EX_PROTOCOL"},
		{"Message-class: eggs,Set: local", "", "SPAMD/1.1 76 EX_PROTOCOL"},
		{"", "", "SPAMD/1.1 76 EX_PROTOCOL"},
		{"User: mallory,Message-class: spam,Set: local", report, "SPAMD/1.1 77 EX_NOPERM: mallory may  not do this\r\n\r\n"},
		{"User: broken,Message-class: spam,Set: local", report, "SPAMD/1.1 70 EX_SOFTWARE: see the daemon's log\r\n\r\n"},
	} {
		got := s.ask(t, command("TELL SPAMC/1.5", mail, strings.Split(test.headers, ",")...))
		if test.headers == "" {
			got = s.ask(t, command("TELL SPAMC/1.5", mail))
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", test.headers, got, test.want)
		}
		select {
		case tell := <-told:
			if test.does == "" || tell.IsSpam != (test.does == report) || len(tell.Set.Signatures) != len(signature.Compute(signature.Parse([]byte(mail))).Signatures) {
				t.Errorf("%s: received %+v, want %q", test.headers, tell, test.does)
			}
		default:
			if test.does != "" {
				t.Errorf("%s: received nothing, want %q", test.headers, test.does)
			}
		}
	}
	if log := s.log.String(); strings.Contains(log, "verdict=") || !strings.Contains(log, "a secret") {
		t.Errorf("log:\n%s", log)
	}
}
