package mail

import "testing"

func TestOriginOf(t *testing.T) {
	for subject, want := range map[string]answer{
		"Re: the bridge": bySubject, "AW: Brücke": bySubject, "[list] RE[2]: bridge": bySubject, "Fwd: a": bySubject,
		"=?utf-8?Q?Re=3A_caf=C3=A9?=": bySubject, "the bridge": NoAnswer, "Really: a": NoAnswer, "12: a": NoAnswer, "": NoAnswer,
	} {
		if got := OriginOf([]Field{{"Subject", subject}}).Answer; got != want {
			t.Errorf("%q: %d, want %d", subject, got, want)
		}
	}
	if got := OriginOf([]Field{{"Subject", "Re: a"}, {"references ", "<a@b.example>"}}).Answer; got != ByThread {
		t.Errorf("with References: %d, want %d", got, ByThread)
	}
}
