package desk_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// A reporter whose word decides nothing cannot repeat it until the ledger has forgotten the words of
// others: undo lists again what another one revoked.
func TestFlipsAreBounded(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	spam := desktest.Letter(1, 0)
	weigh(t, s, "accomplice", 0.5)
	s.MustReport("anna", spam)
	s.MustRevoke("mallory", spam)
	for i := range 12 {
		_, err := s.Report(desk.Report{Set: spam, Reporter: "accomplice"})
		if want := i >= 4; want != errors.Is(err, desk.ErrRevokedOften) {
			t.Errorf("report %d: %v", i, err)
		}
		if _, err := s.Revoke(desk.Report{Set: spam, Reporter: "accomplice"}); err != nil && !errors.Is(err, desk.ErrRevokedOften) {
			t.Errorf("revocation %d: %v", i, err)
		}
	}
	s.MustRevoke("mallory", spam) // known before
	for _, who := range []string{"accomplice", "mallory"} {
		undo(t, s, who, desktest.Noon.AddDate(0, 0, -1))
	}
	s.WantListed("what mallory revoked, after undo", spam, true)
}

// Neither can he if he revokes something else first, of which his revocation contains a part.
func TestFlipsBesideOthersAreBounded(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000
	s := desktest.Open(t, o, trust.Default())
	spam := desktest.Letter(1, 0)
	weigh(t, s, "accomplice", 0.5)
	s.MustReport("anna", spam)
	s.MustRevoke("mallory", spam)
	for i := range 12 {
		s.MustReport("accomplice", spam)
		beside, mixed := desktest.Set(fmt.Sprint("body", i), fmt.Sprint("text", i), fmt.Sprint("file", i)), spam
		s.MustReport("accomplice", beside)
		s.MustRevoke("accomplice", beside)
		mixed.Signatures = append([]signature.Signature{beside.Signatures[2]}, spam.Signatures...)
		_, err := s.Revoke(desk.Report{Set: mixed, Reporter: "accomplice"})
		if want := i >= 3; want != errors.Is(err, desk.ErrRevokedOften) {
			t.Errorf("revocation %d, which counts that of the other message: %v", i, err)
		}
	}
	for _, who := range []string{"accomplice", "mallory"} {
		undo(t, s, who, desktest.Noon.AddDate(0, 0, -1))
	}
	s.WantListed("what mallory revoked, after undo", spam, true)
}

// Nor do his revocations of earlier periods make the ledger forget what undo needs.
func TestFlipsOfEarlierPeriods(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	spam := desktest.Letter(1, 0)
	weigh(t, s, "accomplice", 0.5)
	flip := func(who string) {
		for range 2 { // then reports are refused
			s.MustReport(who, spam)
			s.MustRevoke(who, spam)
		}
	}
	for range 3 {
		flip("mallory")
		s.Clock.Add(int64(8 * 24 * time.Hour / time.Second))
	}
	s.MustReport("anna", spam)
	s.MustRevoke("mallory", spam)
	flip("accomplice")
	for _, who := range []string{"accomplice", "mallory"} {
		undo(t, s, who, s.DB.Now().Add(-time.Hour))
	}
	s.WantListed("what mallory revoked, after undo", spam, true)
}

// A reporter who never sends the same message twice revokes four times, too, what others see as
// one message: of a spam with words of its own in each copy, he would use up the room of the sketch,
// and reports of others would list no further copy until the period ends. Neither can the users of
// one program together.
func TestFlipsByVariations(t *testing.T) {
	copyOf := func(i, words int) signature.Set { return desktest.Texts(1, words, 100+i, 160-words, "") }
	sketchOnly := func(i int) signature.Set { // the same sketch under another text
		set := copyOf(0, 160)
		set.Signatures = desktest.Set(fmt.Sprint("body", i), fmt.Sprint("text", i)).Signatures
		return set
	}
	for name, c := range map[string]struct {
		revoked func(i int) signature.Set
		by      func(i int) string
		most    int
	}{
		"one sketch, other texts":      {sketchOnly, func(int) string { return "mallory" }, 4},
		"few anchors in common":        {func(i int) signature.Set { return copyOf(i, 80) }, func(int) string { return "mallory" }, 4},
		"many users of one program":    {sketchOnly, func(i int) string { return fmt.Sprint("user", i) }, 6},
		"few in common, of many users": {func(i int) signature.Set { return copyOf(i, 80) }, func(i int) string { return fmt.Sprint("user", i) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			o := desktest.Options(t.TempDir())
			o.Reports.Capacity = 100_000
			s := desktest.Open(t, o, trust.Default())
			spam, revoked := copyOf(1000, 150), 0
			for i := range 20 {
				r := desk.Report{Set: copyOf(i, 75), Reporter: c.by(i), Origin: desk.Origin{UID: 1000, Known: true}}
				if _, err := s.Report(r); err != nil && !errors.Is(err, desk.ErrRevokedOften) {
					t.Fatal(err)
				}
				r.Set = c.revoked(i)
				switch o, err := s.Revoke(r); {
				case err == nil && !o.Idle:
					revoked++
				case err != nil && !errors.Is(err, desk.ErrRevokedOften):
					t.Fatal(err)
				}
			}
			if revoked > c.most {
				t.Errorf("%d revocations, at most %d should be accepted", revoked, c.most)
			}
			s.MustReport("anna", copyOf(2000, 155))
			s.WantListed("a copy that nobody reported", spam, true)
			s.MustRevoke("bob", copyOf(2000, 155))
			s.WantListed("after the revocation of another one", spam, false)
		})
	}
}
