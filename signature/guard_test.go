package signature

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// guardFile reads a message of testdata/guard.
func guardFile(t *testing.T, name string) Message {
	t.Helper()
	return Parse(readVector(t, filepath.Join("testdata/guard", name+".eml")))
}

// guardSeen is what the guards say of a message.
func guardSeen(m Message) guard {
	c := computers.Get().(*computer)
	defer c.release()
	walk(m, true, c.leaf)
	return c.guardOf(m, c.visibleText())
}

// weakKinds are those that vary with nothing that a guarded message varies in.
var weakKinds = []Kind{KindText, KindSketch}

// hasWeak tells whether a report of a message lists by one of them.
func hasWeak(s Set) bool {
	return slices.ContainsFunc(s.Signatures, func(s Signature) bool { return slices.Contains(weakKinds, s.Kind) }) ||
		slices.ContainsFunc(s.Sketches, func(s Sketch) bool { return slices.Contains(weakKinds, s.Kind) && !s.AskOnly })
}

// One user reports a, and b, the same for somebody else, must not be listed. What
// only looks like it still signs.
func TestGuards(t *testing.T) {
	for _, tt := range []struct {
		name string
		want guard
		spam bool // there is an imitation
	}{
		{"code", guardCode, true},
		{"code-chinese", guardCode, false},
		{"code-german", guardCode, false},
		{"invitation", guardInvitation, true},
		{"bounce", guardBounce, true},
		{"receipt", guardReceipt, true},
		{"away", guardAway, true},
		{"away-subject", guardAway, false},
		{"challenge", guardChallenge, true},
		{"list", guardList, true},
		{"confirm", guardList, true},
		{"disclaimer", guardNone, true}, // nothing is left that could sign
		{"unsubscribe", guardNone, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := guardFile(t, tt.name+"-a"), guardFile(t, tt.name+"-b")
			reported, checked := Compute(a), Compute(b)
			for _, m := range []Message{a, b} {
				if got := guardSeen(m); got != tt.want {
					t.Errorf("guard %v, want %v", got, tt.want)
				}
			}
			if hasWeak(reported) || hasWeak(checked) {
				t.Errorf("its text signs: %v", checked.Signatures)
			}
			for _, s := range checked.Signatures {
				if slices.Contains(reported.Signatures, s) {
					t.Errorf("both have %s", s.ID())
				}
			}
			if text := Text(a); text != "" {
				t.Errorf("text %q", text)
			}
			if !tt.spam {
				return
			}
			if spam := guardFile(t, tt.name+"-spam"); !hasWeak(Compute(spam)) || guardSeen(spam) != guardNone {
				t.Errorf("the imitation does not sign: guard %v", guardSeen(spam))
			}
		})
	}
}

// Words of a guard in the copy of a reported spam do not hide it, and words that
// nobody sees, or that stand far below, make no guard.
func TestGuardsHideNothing(t *testing.T) {
	page := func(more string) Message {
		return Parse([]byte("Content-Type: text/html\n\n<style>.q{display:none}</style><p>" + ampleProse + "</p>" + more))
	}
	code := "<p>Your code is 482913. It is valid for ten minutes. Do not share it.</p>"
	guarded := Compute(page(code))
	if guardSeen(page(code)) != guardCode || len(guarded.Sketches) != 1 || !guarded.Sketches[0].AskOnly {
		t.Fatalf("with a code: guard %v, sketches %d", guardSeen(page(code)), len(guarded.Sketches))
	}
	if n := len(guarded.Sketches[0].Asked(func(h uint64) uint64 { return h })); n == 0 {
		t.Error("nothing is asked for")
	}
	for name, more := range map[string]string{
		"code":      "<p class=q>Your code is 482913. It is valid for ten minutes. Do not share it.</p>",
		"list":      "<p class=q>mailing list memberships reminder</p>",
		"below":     "<p>mailing list memberships reminder</p>",
		"challenge": "<p>challenge-response system to</p>",
	} {
		if got := guardSeen(page(more)); got != guardNone {
			t.Errorf("%s: guard %v", name, got)
		}
	}
}

// What services add to the mail of all their customers is none of these' own words.
func TestServicesAddBoilerplate(t *testing.T) {
	mailer := func(words, firm string) string {
		return words + "\nYou are receiving this email because you signed up at our website. Our mailing address is: " + firm +
			". Want to change how you receive these emails? You can update your preferences or unsubscribe from this list.\n"
	}
	pull := func(words, path string) string {
		return words + "\n\nYou can view, comment on, or merge this pull request online at:\n\nhttps://github.com/" + path +
			"\n\nCommit Summary\n\nFile Changes\n\nPatch Links:\n\nReply to this email directly or view it on GitHub:\nYou are receiving this because you are subscribed to this thread.\n"
	}
	for name, pair := range map[string][2]string{
		"mailer": {mailer(ampleProse[:240], "City Library, Box 12"), mailer(ampleProse[250:], "Rook and Pawn, Box 7")},
		"pulls":  {pull(ampleProse[:240], "a/b/pull/5"), pull(ampleProse[250:], "c/d/pull/77")},
	} {
		for key := range uint64(20) {
			reported := stored{}
			for _, s := range Compute(Message{Body: []byte(pair[0])}).Sketches {
				reported.report(s, keyedBy(key))
			}
			sketches := Compute(Message{Body: []byte(pair[1])}).Sketches
			if len(reported) == 0 || len(sketches) == 0 {
				t.Fatalf("%s: no sketch", name)
			}
			if best, _ := reported.found(sketches[0], keyedBy(key)); best > 0 {
				t.Errorf("%s: %d keys in common under key %d", name, best, key)
			}
		}
	}
}

// A guarded text makes the body the key of counting, not the sender's logo.
func TestGuardedCounting(t *testing.T) {
	a := guardFile(t, "code-a")
	s := Compute(a)
	if len(s.Counting) != 1 || s.Counting[0].Kind != KindBody {
		t.Errorf("counted under %v", s.Counting)
	}
	text := string(a.Body)
	withLogo := Compute(Parse([]byte(multi("related", "Content-Type: text/plain\n\n"+text, image("Content-ID: <logo>\n")))))
	if d := ofKind(withLogo, KindAttachment); len(d) != 0 || hasWeak(withLogo) {
		t.Errorf("the logo signs: %v", withLogo.Signatures)
	}
}

func TestHasCode(t *testing.T) {
	for text, want := range map[string]bool{
		"code 4829": true, "code: 48291376.": true, "482-913": true, "482 913": true, "G-482913": true, "K7Q2M9": true,
		"验证码482913，": true, "code 123": false, "in 2026": false, "1999": false, "123456789": false, "call 482 9": false,
		"HELLO": false, "abc123": false, "": false, "ABCDEFGHIJ12": false, "A1": false,
	} {
		if got := hasCode([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Every phrase is found in its own text, in both versions, and counts as nothing.
func TestBoilerplate(t *testing.T) {
	for _, list := range [][]string{clientNotes, scannerNotes, listFooters, viewNotes, disclaimers} {
		for _, phrase := range list {
			m := Message{Body: []byte(phrase + "\n")}
			c := computers.Get().(*computer)
			walk(m, true, c.leaf)
			text := c.visibleText()
			c.words.markBoilerplate()
			if own := withoutBoilerplate(text, boilerplate()); len(strings.TrimSpace(string(own))) > 0 {
				t.Errorf("of %q stays %q", phrase, own)
			}
			for _, tok := range c.words.tokens {
				if tok.by == byAuthor {
					t.Errorf("%q: %q is its author's own", phrase, c.words.text[tok.start:tok.end])
				}
			}
			c.release()
		}
	}
}

// Boilerplate around words of one's own leaves them; a phrase inside other words is
// none.
func TestBoilerplatePlaces(t *testing.T) {
	p := boilerplate()
	for text, want := range map[string]string{
		"good morning sent from my iphone":        "good morning",
		"sent from my iphonelike thing":           "sent from my iphonelike thing",
		"absent from my iphone":                   "absent from my iphone",
		"sent from my iphone a sent from my ipad": "",
		"view in browser one two three four five six seven eight nine ten eleven twelve view in browser": "one two three four five six seven eight nine ten eleven twelve",
		"": "",
	} {
		if got := strings.TrimSpace(string(withoutBoilerplate([]byte(text), p))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
