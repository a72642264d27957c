package visible_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/visible"
	"github.com/spambloom/spambloom/signature/words"
)

// ownWords returns the words of a text that its author wrote.
func ownWords(text string, isHTML, isAnswer bool) string {
	var header []mail.Field
	if isAnswer {
		header = []mail.Field{{Name: "In-Reply-To", Value: "<a@b.example>"}, {Name: "List-Id", Value: "x"}}
	}
	seen := viewOf(header, text, isHTML)
	var all words.Tokeniser
	all.Add(seen.Shown.Text, seen.Shown.Quotes, nil)
	var s words.Sketcher
	s.WordsBy(&all, span.ByAuthor)
	return strings.TrimSpace(string(s.Own))
}

func TestQuoted(t *testing.T) {
	const (
		plain, page   = false, true
		longestFooter = 900 // of a mailing list, in bytes
	)
	long := strings.Repeat("zu ", longestFooter/3)
	for _, tt := range []struct {
		name, in      string
		isHTML        bool
		answer, other string // the author's words in an answer, and in any other message
	}{
		{"lines", "aa\n> b\n >> c\n| d\ne", plain, "a e", "a e"},
		{"initials", "aa\nJH> b\n  Tim>> c\ne> d\nf", plain, "a f", "a f"},
		{"attribution", "aa\nOn Monday Bob wrote:\n\n> b\ne", plain, "a e", "a e"},
		{"colon without a quote", "take these:\ne", plain, "take these e", "take these e"},
		{"marks of its own", "aa\nBob wrote:\n--]bo ce\n--]do\nen", plain, "a en", "a bob wrote bo ce do en"},
		{"a list", "we have:\n* aa\n* bo\n- ce", plain, "we have a bo ce", "we have a bo ce"},
		{"signature", "aa\n-- \nBob\n", plain, "a", "a"},
		{"signature of a page", "aa\n-- \n" + long, plain, ownWords("aa\n"+long, plain, true), ownWords("aa\n"+long, plain, true)},
		{"report of a filter", "SPAM: ---- Start SpamAssassin results\nSPAM: bo\naa", plain, "a", "a"},
		{"rule of dashes", "aa\n---------------\nb", plain, "a b", "a b"},
		{"original message", "aa\n-----Original Message-----\nFrom: b\nc", plain, "a", "a originai mesage from b c"},
		{"german", "aa\n-------- Ursprüngliche Nachricht --------\nVon: b", plain, "a", "a ursprungiche nachricht von b"},
		{"mailing list", "aa\n_______________________________________________\nx mailing list\nhttp://a.example/mailman/listinfo/x", plain, "a", "a x maing ist"},
		{"groups", "aa\n------------------------ Yahoo! Groups Sponsor ---------------------~-->\nbuy\n", plain, "a", "a yaho groups sponsor buy"},
		{"blockquote by a mail program", "aa<blockquote type=cite>b<p>c</blockquote>dog", page, "a dog", "a b c dog"},
		{"blockquote by an author", "aa<blockquote>b</blockquote>d", page, "a b d", "a b d"},
		{"Gmail", "aa<div class='gmail_quote'><div class=gmail_attr>On x wrote:</div>b</div>", page, "a", "a on x wrote b"},
		{"Outlook", "aa<div id=divRplyFwdMsg><b>From:</b> b</div>c<p>d", page, "a", "a from b c d"},
		{"lines in a page", "aa<br>&gt; b<br>c", page, "a c", "a c"},
	} {
		for answer, want := range map[bool]string{true: tt.answer, false: tt.other} {
			if got := ownWords(tt.in, tt.isHTML, answer); got != want {
				t.Errorf("%s, an answer %t: author's words of %q are %q, want %q", tt.name, answer, tt.in, got, want)
			}
		}
	}
}

// viewOf returns the view of a text part of a message with a header.
func viewOf(header []mail.Field, text string, isHTML bool) *visible.View {
	l := mail.Leaf{}
	l.MediaType, l.Charset = "text/plain", "utf-8"
	if isHTML {
		l.MediaType = "text/html"
	}
	var texts visible.Texts
	texts.Begin(header, 0, nil)
	texts.Add(l, []byte(text))
	return texts.Show(&texts.Parts[0])
}
