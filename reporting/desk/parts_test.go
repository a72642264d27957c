package desk_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// Two accomplices can use up the revocations of a file by one program. Users of that program still
// list another message with the file, and revoke it again; the file itself stays revoked.
func TestUsedUpFileShieldsNoSpam(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000
	s := desktest.Open(t, o, trust.Default())
	by := func(who string, set signature.Set) desk.Report {
		return desk.Report{Set: set, Reporter: who, Origin: desk.Origin{UID: 1000, Known: true}}
	}
	decoy, file := desktest.Set("decoy body", "decoy text", "file"), desktest.Set("other body", "other text", "file")
	for i := range 6 {
		r := by(fmt.Sprint("accomplice", min(i/2, 1)+max(i-3, 0)), decoy) // two twice, and two once
		if _, err := s.Report(r); err != nil {
			t.Fatal(err)
		}
		if o, err := s.Revoke(r); err != nil || o.Idle {
			t.Fatal(err, o.Idle)
		}
	}
	if _, err := s.Report(by("anna", decoy)); !errors.Is(err, desk.ErrRevokedOften) {
		t.Errorf("the message that was revoked six times, reported: %v", err)
	}
	for i := range 3 {
		spam := desktest.Set(fmt.Sprint("spam body", i), fmt.Sprint("spam text", i), "file")
		if _, err := s.Report(by(fmt.Sprint("anna", i), spam)); err != nil {
			t.Fatal(err)
		}
		s.WantListed("a message with the file", spam, true)
		s.WantListed("another one", file, false)
		if o, err := s.Revoke(by("bob", spam)); err != nil || o.Idle {
			t.Fatal(err, o.Idle)
		}
		s.WantListed("a message with the file, revoked", spam, false)
	}
}

// A reporter who revokes a message with a file four times does not keep others from revoking several
// messages with it, unless the file itself lists them.
func TestUsedUpFileKeepsNothingListed(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000
	s := desktest.Open(t, o, trust.Default())
	letter := func(i int) signature.Set { return desktest.Set(fmt.Sprint("body", i), fmt.Sprint("text", i), "logo") }
	text := func(i int) signature.Set { return desktest.Set(fmt.Sprint("body", i), fmt.Sprint("text", i)) }
	for i := range 4 {
		s.MustReport(fmt.Sprint("mallory", i/2), letter(0))
		s.MustRevoke("mallory", letter(0))
	}
	for i := range 3 {
		s.MustReport("mallory", text(i+1))
		s.MustRevoke("anna", letter(i+1))
		s.WantListed("revoked", letter(i+1), false)
	}
	s.MustReport("mallory", letter(9))
	if _, err := s.Revoke(desk.Report{Set: letter(9), Reporter: "anna"}); err != nil && !errors.Is(err, desk.ErrRevokedOften) {
		t.Fatal(err)
	} else if (err == nil) == s.DB.Judge(letter(9)).Listed {
		t.Errorf("a revocation that leaves the message listed: %v", err)
	}
}
