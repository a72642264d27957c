package mail_test

import (
	"testing"

	"github.com/spambloom/spambloom/signature/mail"
)

func TestOriginOf(t *testing.T) {
	for subject, want := range map[string]mail.Answer{
		"Re: the bridge": mail.BySubject, "AW: Brücke": mail.BySubject, "[list] RE[2]: bridge": mail.BySubject, "Fwd: a": mail.BySubject,
		"=?utf-8?Q?Re=3A_caf=C3=A9?=": mail.BySubject, "the bridge": mail.NoAnswer, "Really: a": mail.NoAnswer, "12: a": mail.NoAnswer, "": mail.NoAnswer,
	} {
		if got := mail.OriginOf([]mail.Field{{Name: "Subject", Value: subject}}).Answer; got != want {
			t.Errorf("%q: %d, want %d", subject, got, want)
		}
	}
	if got := mail.OriginOf([]mail.Field{{Name: "Subject", Value: "Re: a"}, {Name: "references ", Value: "<a@b.example>"}}).Answer; got != mail.ByThread {
		t.Errorf("with References: %d, want %d", got, mail.ByThread)
	}
}
