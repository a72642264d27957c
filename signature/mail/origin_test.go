package mail

import "testing"

func TestOriginOf(t *testing.T) {
	for subject, want := range map[string]Answer{
		"Re: the bridge": BySubject, "AW: Brücke": BySubject, "[list] RE[2]: bridge": BySubject, "Fwd: a": BySubject,
		"=?utf-8?Q?Re=3A_caf=C3=A9?=": BySubject, "the bridge": NoAnswer, "Really: a": NoAnswer, "12: a": NoAnswer, "": NoAnswer,
	} {
		if got := OriginOf([]Field{{"Subject", subject}}).Answer; got != want {
			t.Errorf("%q: %d, want %d", subject, got, want)
		}
	}
	if got := OriginOf([]Field{{"Subject", "Re: a"}, {"references ", "<a@b.example>"}}).Answer; got != ByThread {
		t.Errorf("with References: %d, want %d", got, ByThread)
	}
}
