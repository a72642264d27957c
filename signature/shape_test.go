package signature_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// mailing is a mail of one linked picture and few words.
type mailing struct {
	from, subject, host, picture string
	rows                         int
	words                        string
}

func (m mailing) message() signature.Message {
	var b strings.Builder
	fmt.Fprintf(&b, "From: Office <office@%s>\nSubject: %s\nContent-Type: text/html; charset=utf-8\n\n", m.from, m.subject)
	b.WriteString("<html><head><title></title></head><body bgcolor=white><table width=600><tr><td align=center>")
	fmt.Fprintf(&b, "<a href='http://%s/go'><img src='http://%s/%s' width=580></a></td></tr>\n", m.host, m.host, m.picture)
	for range m.rows {
		fmt.Fprintf(&b, "<tr><td valign=top><h2>%s</h2></td></tr>", m.words)
	}
	b.WriteString("</table><hr></body></html>\n")
	return signature.Parse([]byte(b.String()))
}

// isFound reports whether a message matches by shape after reports of others.
func isFound(asked mailing, reported ...mailing) bool {
	keyed := sketchtest.KeyedBy(1)
	st := make(sketchtest.Store)
	for _, r := range reported {
		for _, s := range signature.Compute(r.message()).Sketches {
			if s.Kind == signature.KindShape {
				st.Report(s, keyed)
			}
		}
	}
	for _, s := range signature.Compute(asked.message()).Sketches {
		if s.Kind == signature.KindShape {
			if _, ok := st.Found(s, keyed); ok {
				return true
			}
		}
	}
	return false
}

// otherPage is words with a page of their own around them.
const otherPage = "</h2><dl><dd><blockquote><pre><code></code></pre></blockquote></dl><em><h4><h5></h5></h4></em><map><area><area></map><button>go</button><strong><small><sub><sup></sup></sub></small></strong><textarea></textarea><form><ul><li><input><li><b>fetch</b></ul><dl><dt><i>today</i><dd><img><hr></dl></form><ol><li><u><h3></h3>"

// newsletter is a page with a text of its own, in a table with so many rows.
func newsletter(before string, rows int, text []string) signature.Message {
	var b strings.Builder
	b.WriteString("From: a@a.example\nContent-Type: text/html\n\n<html><head><meta></head><body>" + before + "<center><img src=1.png></center><div><ul><li>")
	for i := range rows {
		fmt.Fprintf(&b, "<table><tr><td valign=top><h2>%s</h2><p>%s</p></td></tr></table>", text[i], strings.Join(text[i*len(text)/rows:(i+1)*len(text)/rows], " "))
	}
	b.WriteString("</ul></div><form><input><button></button></form><hr></body></html>\n")
	return signature.Parse([]byte(b.String()))
}

// fiveLetters returns the words of these numbers.
func fiveLetters(from, to int) (list []string) {
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("%c%c%c%c%c", 'b'+i%19, 'a'+i/19%7*3, 'd'+i%13, 'e'+i%3*5, 'k'+i%7))
	}
	return list
}

// A page with a few more elements matches by a share of the runs of words, which alone is too small.
// The same share in another page does not match, and neither does the page with other words.
func TestShapeNearlyTheSame(t *testing.T) {
	text, others := fiveLetters(0, 300), fiveLetters(1000, 1300)
	share := slices.Concat(others[:110], text[:90], others[110:210])
	other := signature.Parse([]byte("From: a@a.example\nContent-Type: text/html\n\n" + otherPage + "<p>" + strings.Join(share, " ")))
	for name, c := range map[string]struct {
		asked []signature.Message
		least int // of all seeds and messages
		most  int
	}{
		"rows, a share of the words":     {[]signature.Message{newsletter("", 6, share)}, 7, 8},
		"wrappers, a share of the words": {[]signature.Message{newsletter("<div>", 4, share), newsletter("<center>", 4, share), newsletter("<table><tr><td>", 4, share)}, 14, 24},
		"rows, other words":              {[]signature.Message{newsletter("", 6, others)}, 0, 0},
		"another page, a share":          {[]signature.Message{other}, 0, 0},
	} {
		found := 0
		for seed := range uint64(8) {
			keyed, st := sketchtest.KeyedBy(seed), make(sketchtest.Store)
			for _, s := range signature.Compute(newsletter("", 4, text)).Sketches {
				st.Report(s, keyed)
			}
			for _, m := range c.asked {
				for _, s := range signature.Compute(m).Sketches {
					if _, ok := st.Found(s, keyed); ok && s.Kind == signature.KindShape {
						found++
					}
				}
			}
		}
		if found < c.least || found > c.most {
			t.Errorf("%s: found %d times, want %d to %d", name, found, c.least, c.most)
		}
	}
}

// A spam has the structure of a newsletter, and of its 900 words the thirty that make ten of the runs
// with the smallest hashes, which anyone can compute. Its report does not list the newsletter.
func TestShapeFramedByFewRuns(t *testing.T) {
	text, own := fiveLetters(0, 900), fiveLetters(1000, 1100)
	innocent := newsletter("", 4, text)
	var hashes []uint64
	for _, k := range signature.Compute(innocent).Sketches[0].Keys {
		hashes = append(hashes, k.Hash)
	}
	slices.Sort(hashes)
	var copied []string
	for i := 0; len(copied) < 4*10; i++ {
		run := text[i : i+3]
		set := signature.Compute(signature.Parse([]byte("Subject: x\n\n" + strings.Join(slices.Concat(own[:80], run), " ") + "\n")))
		if slices.ContainsFunc(set.Sketches[0].Keys, func(k signature.Feature) bool { return slices.Contains(hashes[:24], k.Hash) }) {
			copied = append(append(copied, run...), own[80+len(copied)/4])
		}
	}
	spam := signature.Compute(newsletter("", 1, slices.Concat(own[:80], copied)))
	const keys = 50
	listed := 0
	for seed := range uint64(keys) {
		keyed, st := sketchtest.KeyedBy(seed), make(sketchtest.Store)
		for _, s := range spam.Sketches {
			st.Report(s, keyed)
		}
		for _, s := range signature.Compute(innocent).Sketches {
			if _, ok := st.Found(s, keyed); ok {
				listed++
			}
		}
	}
	if listed > 1 { // 3 of 16 runs by chance
		t.Errorf("under %d of %d keys, the spam lists the newsletter", listed, keys)
	}
}

func TestShapeNeedsAWitness(t *testing.T) {
	first := mailing{"a.example", "Parcel", "a.example", "x/1.png", 1, "collect today"}
	second := mailing{"b.example", "Lottery", "b.example", "y/2.png", 1, "winner chosen"}
	third := mailing{"c.example", "Garden", "c.example", "z/3.png", 1, "flowers cheap"}
	more := mailing{"d.example", "Doctor", "d.example", "w/4.png", 3, "tablets now"}
	picture := mailing{"e.example", "Parcel collect", "e.example", "campaign-orchard/harvest-basket.png", 1, "collect today"}
	for _, tt := range []struct {
		name     string
		asked    mailing
		reported []mailing
		want     bool
	}{
		{"nothing reported", first, nil, false},
		{"one sender", second, []mailing{first}, false},
		{"one sender, twice", second, []mailing{first, {"a.example", "Other", "q.example", "v/5.png", 1, "words differ"}}, false},
		{"two senders", third, []mailing{first, second}, true},
		{"two senders, rows added", more, []mailing{first, second}, false},
		{"many senders, rows added", more, []mailing{first, second, third, {"f.example", "S", "f.example", "v/6.png", 1, "six"}, {"g.example", "S", "g.example", "v/7.png", 1, "seven"}}, true},
		{"the same picture and words", mailing{"h.example", "Parcel collect", "h.example", "campaign-orchard/harvest-basket.png", 1, "fetch today"}, []mailing{picture}, true},
		{"the same picture and words, rows added", mailing{"h.example", "Parcel collect", "h.example", "campaign-orchard/harvest-basket.png", 2, "fetch today"}, []mailing{picture}, true},
		{"the same picture and words in another page", mailing{"h.example", "Parcel collect", "h.example", "campaign-orchard/harvest-basket.png", 1, otherPage}, []mailing{picture}, false},
	} {
		if got := isFound(tt.asked, tt.reported...); got != tt.want {
			t.Errorf("%s: found %t, want %t", tt.name, got, tt.want)
		}
	}
}

// Mail of few words and a page signs, so that it can be reported.
func TestPageOfAPictureSigns(t *testing.T) {
	set := signature.Compute(mailing{"a.example", "Parcel", "a.example", "x/1.png", 1, "collect today"}.message())
	if len(ofKind(set, signature.KindBody)) != 1 || len(set.Sketches) != 1 || set.Sketches[0].Kind != signature.KindShape {
		t.Errorf("got %v, %d sketches", set.Signatures, len(set.Sketches))
	}
	if err := set.Sketches[0].Check(); err != nil {
		t.Error(err)
	}
	sketchtest.CheckEssence(t, set.Sketches[0], 1, 2)
}

// What mail programs write around a letter is no structure.
func TestLetterHasNoShape(t *testing.T) {
	for _, page := range []string{
		`<div dir="ltr"><div>Hello<br></div><div><br></div><div>see <a href="http://a.example/">this</a></div></div>`,
		`<html><head><meta name=Generator content="Word 15"></head><body lang=EN-GB><div class=WordSection1><p class=MsoNormal>Hello<o:p></o:p></p><p class=MsoNormal><span style='color:black'>Bob</span></p></div></body></html>`,
		`<html><head></head><body style="word-wrap: break-word;"><div>Hello</div><div><br></div><blockquote type="cite"><div>you</div></blockquote></body></html>`,
	} {
		if set := signature.Compute(signature.Parse([]byte("Content-Type: text/html\n\n" + page))); len(set.Signatures)+len(set.Sketches) > 0 {
			t.Errorf("%.40q signs: %v, %d sketches", page, set.Signatures, len(set.Sketches))
		}
	}
}

// A page that shows nothing but a linked remote picture signs with its domains, and is found
// whatever its style sheet, picture and path are.
func TestLinkedPictureSigns(t *testing.T) {
	sign := func(page string) []signature.Digest {
		return ofKind(signature.Compute(signature.Parse([]byte("From: a@a.example\nContent-Type: text/html\n\n"+page))), signature.KindPhrase)
	}
	first := sign("<style>one two three</style><a href='http://spam-orchard.net/1.html'><img src='http://cid.example/1.jpg'></a>")
	if len(first) != 1 { // readers do not see where a picture is loaded from
		t.Fatalf("%d signatures", len(first))
	}
	for _, tt := range []struct {
		page string
		same bool
	}{
		{"<style>four five</style><a target=x href='http://spam-orchard.net/2.html'><img src='http://other-orchard.net/2.jpg'></a>", true},
		{"<a href='http://garden-orchard.net/1.html'><img src='http://third-orchard.net/1.jpg'></a>", false},
		{"<a href='http://spam-orchard.net/1.html'><img src='http://cid.example/1.jpg'></a> some words of a letter", false},
		{"<a href='http://spam-orchard.net/1.html'>a link</a>", false},
		{"<img src='http://spam-orchard.net/1.jpg'>", false},
	} {
		if got := sign(tt.page); (len(got) > 0 && got[0] == first[0]) != tt.same {
			t.Errorf("%q: same %t, want %t", tt.page, !tt.same, tt.same)
		}
	}
}

// A few words sign together with the domain of a link, and not without one.
func TestPhraseNeedsALink(t *testing.T) {
	sign := func(text string) []signature.Digest {
		return ofKind(signature.Compute(signature.Parse([]byte("From: a@a.example\n\n"+text))), signature.KindPhrase)
	}
	const words = "open the sealed letter quickly "
	first := sign(words + "http://spam.example.org.ru/1")
	if len(first) != 1 {
		t.Fatalf("%d signatures", len(first))
	}
	for _, tt := range []struct {
		text string
		same bool
	}{
		{words + "http://www.spam.example.org.ru/other?id=2", true},
		{"read the sealed letter quickly http://spam.example.org.ru/1", false},
		{words + "http://other.example.org.ru.com/1", false},
		{words, false},
		{"open it http://spam.example.org.ru/1", false},
		{words + "http://www.google.com/1", false},
	} {
		got := sign(tt.text)
		if same := len(got) == 1 && got[0] == first[0]; same != tt.same {
			t.Errorf("%q: same %t, want %t", tt.text, same, tt.same)
		}
	}
	const meeting = "Join Zoom Meeting\nMeeting ID: 890 1234 5678\nPasscode: 483921\nhttps://"
	if n := len(sign(meeting + "spam.example.org.ru/j/1")); n != 1 {
		t.Errorf("a false invitation has %d signatures", n)
	}
	if n := len(sign(meeting + "us02web.zoom.us/j/1")); n != 0 {
		t.Errorf("an invitation has %d signatures", n)
	}
}

// Reports of three spams that carry another's page list no mail with that page as its own, however
// they carry it, and they find a fourth one. One that shows a page of its own is known by that.
func TestShapeOfCarriedPage(t *testing.T) {
	innocents := map[string]signature.Message{
		"mailing":    mailing{"a.example", "The garden", "a.example", "autumn/garden-roses.png", 3, "apples pears plums cherries walnuts medlars"}.message(),
		"newsletter": newsletter("", 4, fiveLetters(0, 300)),
	}
	bodies := map[string]string{
		"nothing": "\n", "words": "\nWin money today\n", "text": "\n" + prose,
		"page": "Content-Type: text/html\n\n" + strings.Replace(otherPage, "go", "win money", 1) + "\n",
	}
	found := func(st sketchtest.Store, keyed func(uint64) uint64, set signature.Set) bool {
		return slices.ContainsFunc(set.Sketches, func(s signature.Sketch) bool {
			_, ok := st.Found(s, keyed)
			return ok && s.Kind == signature.KindShape
		})
	}
	for name, innocent := range innocents {
		for bodyName, own := range bodies {
			for _, c := range carriers {
				spam := func(i int) signature.Set {
					raw := fmt.Sprintf("From: office@spam%d.example\nSubject: Win\n", i) +
						c.wrap(t, bounded("o", own), "Content-Type: text/html\n\n"+string(innocent.Body))
					return signature.Compute(signature.Parse([]byte(raw)))
				}
				keyed, st := sketchtest.KeyedBy(1), make(sketchtest.Store)
				for i := range 3 {
					for _, s := range spam(i).ToReport().Sketches {
						st.Report(s, keyed)
					}
				}
				if found(st, keyed, signature.Compute(innocent)) {
					t.Errorf("spam of %s carries a %s as %s: it is listed", bodyName, name, c.name)
				}
				fourth := spam(3)
				hasShape := slices.ContainsFunc(fourth.Sketches, func(s signature.Sketch) bool { return s.Kind == signature.KindShape })
				if (hasShape || bodyName == "page" && c.name != "reported") && !found(st, keyed, fourth) {
					t.Errorf("spam of %s that carries a %s as %s is not found again", bodyName, name, c.name)
				}
			}
		}
	}
}

// The report of a spam that hides a mailing of pictures in its page does not list the mailing, and
// finds another copy of the spam.
func TestShapeOfHiddenMailing(t *testing.T) {
	var pictures strings.Builder
	for _, p := range []string{"autumn/garden-roses", "orchard/late-apples", "cellar/cider-barrels", "kitchen/plum-cake"} {
		fmt.Fprintf(&pictures, "<a href='http://a.example/%s'><img src='http://a.example/%s.png' width=580 alt='%s'></a></td></tr><tr><td>", p, p, strings.ReplaceAll(p, "/", " "))
	}
	page := "<html><head><title></title></head><body bgcolor=white><table width=600><tr><td align=center>" + pictures.String() +
		"</table><ul><li><center><form><input><button>go</button></form></ul><hr></body></html>\n"
	shapes := func(from, page string) (list []signature.Sketch) {
		set := signature.Compute(signature.Parse([]byte("From: a@" + from + "\nSubject: From us\nContent-Type: text/html\n\n" + page)))
		return slices.DeleteFunc(set.ToReport().Sketches, func(s signature.Sketch) bool { return s.Kind != signature.KindShape })
	}
	for _, words := range []string{"Win money today", prose} {
		for _, hides := range []string{"<div style='display:none'>", "<p hidden>", "<template>", "<style>.x{visibility:hidden}</style><div class=x>"} {
			keyed, st := sketchtest.KeyedBy(1), make(sketchtest.Store)
			spam := shapes("b.example", words+hides+page)
			if len(spam) != 1 {
				t.Fatalf("the spam has %d shapes", len(spam))
			}
			st.Report(spam[0], keyed)
			if _, ok := st.Found(shapes("a.example", page)[0], keyed); ok {
				t.Errorf("spam of %.15q hides a mailing by %s: the mailing is listed", words, hides)
			}
			if _, ok := st.Found(shapes("c.example", words+" "+hides+page)[0], keyed); !ok {
				t.Errorf("another copy of the spam of %.15q that hides a mailing by %s is not found", words, hides)
			}
		}
	}
}

// A picture spam with a second link, to an innocent site, does not list that site's picture mail, and
// is found again.
func TestSecondLinkOfPicture(t *testing.T) {
	sign := func(links, picture string) signature.Set {
		return signature.Compute(signature.Parse([]byte("Subject: x\nContent-Type: text/html\n\n<a href='http://" + links + "'><img src='http://" + picture + ".jpg' width=600></a>")))
	}
	innocent := sign("bank.example/offers", "bank.example/winter")
	for _, second := range []string{"<a href='http://bank.example/'>.</a>", "<map><area href=http://bank.example/></map>", "<form action='http://bank.example/'>.</form>"} {
		with := func(n string) signature.Set {
			return sign("spam.example/"+n+"'>"+"</a>"+second+"<a href='http://spam.example/"+n, "spam.example/"+n)
		}
		spam := with("1")
		if kinds := matchesOf(spam, innocent); slices.Contains(kinds, "phrase") {
			t.Errorf("%s: the picture mail is listed by %v", second, kinds)
		}
		if kinds := matchesOf(spam, with("2")); !slices.Contains(kinds, "phrase") {
			t.Errorf("%s: another copy is found by %v", second, kinds)
		}
	}
}

// The sender chooses the addresses in To and Cc. So a link to the domain of one counts for a phrase, but not in a short
// mail within a firm, which has the firm's link in its signature block.
func TestPhraseOfRecipients(t *testing.T) {
	sign := func(head, body string) signature.Set {
		return signature.Compute(signature.Parse([]byte(head + "\nSubject: x\nContent-Type: text/html\n\n<html>" + body)))
	}
	const spam = "claim your prize before friday at our new shop http://www.win.example/a"
	for _, to := range []string{"To: news@win.example", "To: a@b.example, news@mail.win.example", "To: a@b.example\nCc: win@win.example"} {
		for _, reported := range []signature.Set{sign(to, spam+"1"), sign("To: a@b.example", spam+"1")} {
			if kinds := matchesOf(reported, sign(to, spam+"2")); !slices.Contains(kinds, "phrase") {
				t.Errorf("%s: another copy is found by %v", to, kinds)
			}
		}
	}
	for _, to := range []string{"To: a@win.example", "To: a@win.example, b@win.example"} { // within a firm, or as if
		inside := sign("From: b@mail.win.example\n"+to, spam+"1")
		if kinds := matchesOf(inside, sign("From: c@win.example\n"+to, spam+"2")); !slices.Contains(kinds, "phrase") {
			t.Errorf("%s: another copy is found by %v", to, kinds)
		}
		for _, from := range []string{"From: x@spam.example\n" + to, "From: x@win.example\nTo: a@b.example"} {
			if kinds := matchesOf(sign(from, spam+"2"), inside); slices.Contains(kinds, "phrase") {
				t.Errorf("a mail within a firm is listed by one %q", from)
			}
		}
	}
	for name, page := range map[string]string{
		"picture": "<a href='http://win.example/1'><img src='http://win.example/1.jpg' width=600></a>",
		"few":     "win your prize here now http://www.win.example/a1",
	} {
		set := sign("To: news@win.example", page)
		if got := kinds(set); len(ofKind(set, signature.KindPhrase)) > 0 || len(ofKind(set, signature.KindBody)) == 0 {
			t.Errorf("%s: signed by %q, want only by the body", name, got)
		}
	}
	const picture = "<a href='http://win.example/1'><img src='http://win.example/1.jpg' width=600></a><a href=http://bank.example>.</a>"
	if kinds := matchesOf(sign("To: a@win.example", picture), sign("To: a@b.example", "<a href='http://bank.example/'><img src='http://bank.example/2.jpg' width=600></a>")); slices.Contains(kinds, "phrase") {
		t.Errorf("an innocent picture mail is found by %v", kinds)
	}
}
