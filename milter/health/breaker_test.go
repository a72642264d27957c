package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// play passes outcomes a second apart to a breaker, and returns a record: o is a message
// judged in time, f one that was not, a one that was turned away. "!" follows if the
// breaker opened or closed as a result. While it is open, each message is a probe. A dot is
// a minute that passes.
func play(b *breaker, outcomes string) string {
	now := time.Unix(1e9, 0)
	var did strings.Builder
	for _, o := range outcomes {
		if o == '.' {
			now = now.Add(time.Minute)
			did.WriteRune(o)
			continue
		}
		now = now.Add(time.Second)
		judge, probe := b.admit(true)
		if !judge {
			did.WriteRune('-')
			continue
		}
		changed := b.ended(now, probe, map[rune]Outcome{'o': JudgedInTime, 'f': NotInTime, 'a': TurnedAway}[o])
		did.WriteRune(o)
		if changed {
			did.WriteRune('!')
		}
	}
	return did.String()
}

func TestBreaker(t *testing.T) {
	for _, test := range []struct{ name, outcomes, want string }{
		{"all is well", "oooooooooooooooooooooooooo", "oooooooooooooooooooooooooo"},
		{"five in a row", "offff" + "f", "offfff!"},
		{"a row over hours", "f...f...f...f...f", "f...f...f...f...f!"},
		{"four in a row", "ffffoffffo", "ffffoffffo"},
		{"those turned away do not count", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		{"nor do they end a row", "fafafafaf", "fafafafaf!"},
		{"more than half", "ffffo" + "ffffo" + "fff", "ffffo" + "ffffo" + "fff!"},
		{"half", strings.Repeat("fo", 30), strings.Repeat("fo", 30)},
		{"more than half, slowly", strings.Repeat("ffo....", 20), strings.Repeat("ffo....", 20)},
		{"three probes close it", "fffffooo" + "o", "fffff!ooo!" + "o"},
		{"a probe fails", "fffffoofooaooo", "fffff!oofooaooo!"},
		{"counting restarts after it closed", "fffffooo" + "ffff" + "f", "fffff!ooo!" + "fffff!"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := play(new(breaker), test.outcomes); got != test.want {
				t.Errorf("%s: %s, want %s", test.outcomes, got, test.want)
			}
		})
	}
}

func TestBreakerAdmitsOneProbeAtATime(t *testing.T) {
	var b breaker
	if got := play(&b, "fffff"); got != "fffff!" || b.fault() == nil {
		t.Fatalf("%s, fault %v", got, b.fault())
	}
	now := time.Unix(2e9, 0)
	if judge, _ := b.admit(false); judge {
		t.Error("admitted a probe that would wait for a processor")
	}
	judge, probe := b.admit(true)
	if !judge || !probe {
		t.Error("no probe is admitted")
	}
	if judge, _ := b.admit(true); judge {
		t.Error("a second probe is admitted")
	}
	for range tripRow {
		if b.ended(now, false, JudgedInTime) || b.ended(now, false, NotInTime) || b.row != 0 {
			t.Fatal("a message admitted earlier changed the state")
		}
	}
	b.ended(now, true, TurnedAway)
	if judge, probe = b.admit(true); !judge || !probe {
		t.Error("no probe after a probe")
	}
	if !strings.Contains(b.fault().Error(), "5 messages in a row were not judged in time; 2 messages passed unchecked") {
		t.Errorf("fault %v", b.fault())
	}
}

// breakerModel records everything that happened and recounts it each time.
type breakerModel struct {
	open   bool
	at     []time.Time // since it last closed, without those turned away
	failed []bool
	probes []bool // since it opened
}

func (m *breakerModel) ended(now time.Time, o Outcome) {
	if m.open {
		m.probes = append(m.probes, o == JudgedInTime)
		if n := len(m.probes); n >= closeRow && !slices.Contains(m.probes[n-closeRow:], false) {
			*m = breakerModel{}
		}
		return
	}
	if o == TurnedAway {
		return
	}
	m.at, m.failed = append(m.at, now), append(m.failed, o == NotInTime)
	n := len(m.at)
	row := n >= tripRow && !slices.Contains(m.failed[n-tripRow:], false)
	lately := 0
	for i := max(0, n-tripWindow); i < n; i++ {
		if m.failed[i] && now.Sub(m.at[i]) < time.Minute {
			lately++
		}
	}
	m.open = m.failed[n-1] && (row || lately > tripWindow/2)
	m.probes = nil
}

func TestBreakerAsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b breaker
		var m breakerModel
		now := time.Unix(1e9, 0)
		bias := rapid.IntRange(0, 9).Draw(t, "bias")
		for i := range rapid.IntRange(1, 300).Draw(t, "messages") {
			now = now.Add(time.Duration(rapid.IntRange(0, 8000).Draw(t, "ms")) * time.Millisecond)
			o := Outcome(rapid.IntRange(0, 2).Draw(t, "outcome"))
			if rapid.IntRange(0, 9).Draw(t, "again") < bias {
				o = NotInTime
			}
			before := b.open
			judge, probe := b.admit(true)
			if !judge || probe != before {
				t.Fatalf("message %d: admitted %v, as a probe %v, open %v", i, judge, probe, before)
			}
			changed := b.ended(now, probe, o)
			m.ended(now, o)
			if b.open != m.open || changed != (b.open != before) || (b.fault() != nil) != b.open {
				t.Fatalf("message %d: open %v, model %v, changed %v", i, b.open, m.open, changed)
			}
		}
	})
}

func TestSpate(t *testing.T) {
	var s spate
	now := time.Unix(1e9, 0)
	for i := range 9 {
		s.add(now.Add(time.Duration(i) * time.Second))
	}
	if s.isOn(now.Add(9 * time.Second)) {
		t.Error("nine events are a spate")
	}
	s.add(now.Add(9 * time.Second))
	if !s.isOn(now.Add(59 * time.Second)) {
		t.Error("ten events within a minute are no spate")
	}
	if s.isOn(now.Add(60 * time.Second)) {
		t.Error("the spate does not end")
	}
}
