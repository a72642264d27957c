package signature_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/signature"
)

var searchFor = flag.Duration("hostile", 0, "how long TestSearch looks for the most expensive message")

// searched are the pieces of hostile text, by grammar.
var searched = map[string][]string{
	"html": {"<p>", "</p>", "<b>", "</b>", "<i>", "<td>", "<table>", "</table>", "<hr>", "<br>", "<li>", "<div>", "</div>", "<div hidden>", "<svg>", "<svg/>",
		"<math>", "<title>", "</title>", "<style>", "</style>", "<script>", "</script>", "<!--", "-->", "<textarea>", "<a href=", "http://x.org/", "<p style='",
		"'>", "<p class='", "<p id=a>", "<bdo dir=rtl>", "<blockquote type=cite>", "</blockquote>", "&amp;", "&#1;", "&notit;", "\"", "<font color=#123456>",
		"<img src=//a.b/>", "<p a=b>", " class=a", "&", "<", ">", "/", "=", "{i}", "x ", "a", "<q{i}>", "\n", "<td hidden>", "<tr>", "<h1>", "<dt>", "<p style='background:"},
	"css": {"b i p{top:0}", "a", "b", "p", "*", ".a", "#b", " ", ">", ",", "{", "}", ";", ":", "color:red", "@media all", "@a;", "@media (", "display:none", "/*",
		"*/", "\\61 ", "!important", "{i}", "{top:0}", "background:", "font:", "rgb(", "@layer a{", "\"", "left:-900px", "left:", "9e308 ", "1e-323 ", "opacity:0", "[a]", ".a.b.c.d"},
	"text": {"a", "b", "r n ", " ", "\n", ".", "-- \n", "> ", ">", "|<", "\\/", "1", "@", ":", "http://", "www.", "a.b/", "%25", "?u=", "=www.", "\u202e", "\u202c",
		"\u0301", "\ufdfa", "\u4e2d", "\u0e01", "\uff20", "\u2460", "\u00ae", "\u01c6", "\u00ad", "\u00fc", "\u0436", "____________\n", "unsubscribe\n", "SPAM: ",
		"if you ", "-----Original Message-----\n", "a:\n", "your code is 1234 ", "mailing list", "{i}", "sent from my iphone ", "|\n", "\U0001f150", "\u1e9b\u0323", "\u3300"},
	"mime": {"--b\n", "--b--\n", "--c\n", "Content-Type: multipart/mixed; boundary=c\n\n", "Content-Type: message/rfc822\n\n", "Content-Type: text/html\n", "Content-Type: text/x; charset=x\n",
		"Content-Transfer-Encoding: base64\n", "Content-Transfer-Encoding: quoted-printable\n", "X: y\n", "\n", "a*0=b;", "x", " ", "=41", "YWJj", "Content-Type: image/png\n", "Content-Disposition: inline\n",
		"Content-Type: multipart/report; boundary=b\n\n", "Content-Type: message/x\n\n",
		"--", "-", "Content-Type: text/x;", " a=\"b\\\"", "From ", ">From \n", "\r", "Content-Type: multipart/alternative; boundary=b\n\n", "Content-Type: text/calendar\n\nBEGIN:VCALENDAR\nMETHOD:x\n"},
	"ber": {"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01", "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02", "\xa0\x80", "\x30\x80", "\x31\x00", "\x24\x80", "\x24\x8d", "\x04\x01", "\x04\x00", "\x04\x84\x7f",
		"\x00\x00", "\x02\x01\x01", "\x30\x7f", "x ", "Content-Type: text/html\n\n"},
}

// searchedHeads are headers of hostile text.
var searchedHeads = []string{"", "List-Id: x\n", "In-Reply-To: x\n", "Subject: Re: x\n", "X-Autoreply: x\n"}

var searchedCharsets = []string{"utf-8", "utf-8", "utf-8", "utf-7", "iso-2022-jp", "gb18030", "big5", "utf-16", "windows-1252", "koi8-r", "hz-gb-2312", "euc-kr"}

// plan is changed by the search: it becomes a recipe of a given size.
type plan struct {
	grammar string
	head    string
	pieces  []string // each repeated to its share of the size
	weights []int    // of 0, once
	file    string
	numbers []int
}

func (p plan) recipe(size int) recipe {
	if p.file != "" {
		mediaType := "application/octet-stream"
		return recipe{{count: 1, piece: "Content-Type: " + mediaType + "\nContent-Transfer-Encoding: base64\n\n"}, {count: 1, file: p.file, numbers: p.numbers}}
	}
	r := recipe{{count: 1, piece: p.head}}
	sum := 0
	for _, w := range p.weights {
		sum += w
	}
	for i, piece := range p.pieces {
		count := 1
		if p.weights[i] > 0 {
			count = max(1, size*p.weights[i]/sum/len(piece))
		}
		r = append(r, ingredient{count: count, piece: piece})
	}
	return r
}

func randomPlan(rng *rand.Rand) plan {
	if rng.IntN(5) == 0 {
		names := []string{"zip", "gzip", "tar", "pdf", "png", "gif", "jpeg", "bmp", "webp"}
		p := plan{file: names[rng.IntN(len(names))]}
		for range 9 {
			p.numbers = append(p.numbers, rng.IntN(1<<rng.IntN(18)))
		}
		return p
	}
	names := []string{"html", "html", "css", "css", "text", "text", "mime", "ber"}
	p := plan{grammar: names[rng.IntN(len(names))]}
	kind := map[string]string{"html": "text/html", "css": "text/html", "text": "text/plain", "mime": "multipart/mixed; boundary=b", "ber": "application/pkcs7-mime"}[p.grammar]
	p.head = fmt.Sprintf("%sContent-Type: %s; charset=%s\n\n", searchedHeads[rng.IntN(len(searchedHeads))], kind, searchedCharsets[rng.IntN(len(searchedCharsets))])
	for range 1 + rng.IntN(3) {
		p.pieces, p.weights = append(p.pieces, p.piece(rng, p.grammar)), append(p.weights, rng.IntN(5))
	}
	if p.grammar == "css" {
		p.pieces, p.weights = append([]string{"<style>"}, p.pieces...), append([]int{0}, p.weights...)
		p.pieces, p.weights = append(p.pieces, "</style>", p.piece(rng, "html")), append(p.weights, 0, 1+rng.IntN(5))
	}
	p.weights[rng.IntN(len(p.weights))] = 5
	return p
}

func (p plan) piece(rng *rand.Rand, grammar string) string {
	if rng.IntN(12) == 0 {
		grammar = []string{"html", "css", "text", "mime"}[rng.IntN(4)]
	}
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		b.WriteString(searched[grammar][rng.IntN(len(searched[grammar]))])
	}
	return b.String()
}

// changed returns p with one change.
func (p plan) changed(rng *rand.Rand) plan {
	q := p
	if p.file != "" {
		q.numbers = append([]int(nil), p.numbers...)
		i := rng.IntN(len(q.numbers))
		switch rng.IntN(4) {
		case 0:
			q.numbers[i] = rng.IntN(1 << rng.IntN(18))
		case 1:
			q.numbers[i] += rng.IntN(3) - 1
		case 2:
			q.numbers[i] *= 2
		case 3:
			q.numbers[i] /= 2
		}
		return q
	}
	q.pieces, q.weights = append([]string(nil), p.pieces...), append([]int(nil), p.weights...)
	i := rng.IntN(len(q.pieces))
	switch rng.IntN(9) {
	case 0:
		q.pieces[i] = p.piece(rng, p.grammar)
	case 1, 2:
		q.pieces[i] += p.piece(rng, p.grammar)
	case 3:
		q.weights[i] = rng.IntN(9)
	case 4:
		if at := rng.IntN(len(q.pieces[i]) + 1); at > 0 {
			q.pieces[i] = q.pieces[i][:at]
		}
	case 5:
		if at := rng.IntN(len(q.pieces[i])); at > 0 {
			q.pieces[i] = q.pieces[i][at:]
		}
	case 6:
		q.pieces, q.weights = append(q.pieces, p.piece(rng, p.grammar)), append(q.weights, rng.IntN(9))
	case 7:
		if len(q.pieces) > 1 {
			q.pieces, q.weights = append(q.pieces[:i], q.pieces[i+1:]...), append(q.weights[:i], q.weights[i+1:]...)
		}
	case 8:
		other := randomPlan(rng)
		if other.file == "" {
			q.head = other.head
		}
	}
	for _, w := range q.weights {
		if w > 0 {
			return q
		}
	}
	q.weights[0] = 5
	return q
}

// cpu returns the CPU time of this program so far.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// found is a message that the search measured.
type found struct {
	plan
	size, steps int
	cpu         time.Duration
}

// goals are the figures that the search maximises.
var goals = []struct {
	name string
	of   func(f found) float64
}{
	{"CPU", func(f found) float64 { return f.perByte() }},
	{"steps", func(f found) float64 { return float64(f.steps) / float64(f.size+4096) }},
	{"CPU a step", func(f found) float64 { return float64(f.cpu) / float64(f.steps+100_000) }}, // work that is not counted
}

// perByte returns the CPU time in ns a byte; less for small messages, as each message has
// some.
func (f found) perByte() float64 { return float64(f.cpu) / float64(f.size+4096) }

func (f found) String() string {
	return fmt.Sprintf("%.0f ns and %.1f steps a byte, %.1f ns a step (%v for %d bytes):\n%s", f.perByte(),
		float64(f.steps)/float64(f.size), float64(f.cpu)/float64(f.steps), f.cpu, f.size, f.recipe(f.size))
}

func measured(p plan, size, times int) found {
	raw := p.recipe(size).message(100)
	m := signature.Parse(raw)
	f := found{plan: p, size: len(raw), cpu: time.Hour}
	for range times {
		before := cpu()
		f.steps = stepsOf(m)
		f.cpu = min(f.cpu, cpu()-before)
	}
	return f
}

// TestSearch looks for the messages that cost most, by hill climbing, for the time of
// -hostile. A message that costs much more CPU time than its steps indicates work that is
// not counted. Messages worth keeping become a file in testdata/hostile.
func TestSearch(t *testing.T) {
	if *searchFor == 0 {
		t.Skip("needs -hostile with how long to search")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := searcher{rand.New(rand.NewPCG(seed, 0)), time.Now().Add(*searchFor), hostileRecipes(t)}
	tops := make([][]found, len(goals))
	rounds := 0
	for ; time.Now().Before(s.end); rounds++ {
		goal := rounds % len(goals)
		f := s.climb(goals[goal].of)
		if len(tops[goal]) == 0 || goals[goal].of(f) > goals[goal].of(tops[goal][0]) {
			t.Logf("round %d, %s: %v", rounds, goals[goal].name, f) // a search that is stopped loses nothing
		}
		top := append(tops[goal], f)
		slices.SortFunc(top, func(a, b found) int { return cmp.Compare(goals[goal].of(b), goals[goal].of(a)) })
		tops[goal] = top[:min(len(top), 8)]
	}
	t.Logf("%d rounds", rounds)
	for i, goal := range goals {
		for _, f := range tops[i] {
			t.Logf("most %s: %v", goal.name, f)
		}
	}
}

// searchedSize is the size of messages while the search climbs.
const searchedSize = 96 << 10

type searcher struct {
	*rand.Rand
	end     time.Time
	recipes map[string]recipe // known ones to begin with
}

// climb searches from one place until no change improves it.
func (s *searcher) climb(worth func(found) float64) found {
	best := measured(s.start(), searchedSize, 1)
	for range 8 {
		if f := measured(s.start(), searchedSize, 1); worth(f) > worth(best) {
			best = f
		}
	}
	for failed := 0; failed < 60 && time.Now().Before(s.end); failed++ {
		f := measured(best.changed(s.Rand), searchedSize, 1)
		if worth(f) < worth(best)*1.03 {
			continue
		}
		if f = measured(f.plan, searchedSize, 3); worth(f) > worth(best)*1.02 {
			best, failed = f, 0
		}
	}
	return measured(best.plan, 4*searchedSize, 3)
}

// start returns a random plan, or that of a known recipe.
func (s *searcher) start() plan {
	if s.IntN(3) > 0 {
		return randomPlan(s.Rand)
	}
	names := slices.Sorted(maps.Keys(s.recipes))
	return planOf(s.recipes[names[s.IntN(len(names))]])
}

func planOf(r recipe) plan {
	last := r[len(r)-1]
	if last.file != "" {
		return plan{file: last.file, numbers: append(slices.Clone(last.numbers), make([]int, 9)...)[:9]}
	}
	p := plan{grammar: "html", head: r[0].piece}
	for _, one := range r[1:] {
		p.pieces = append(p.pieces, one.piece)
		p.weights = append(p.weights, one.count*len(one.piece)/2000)
		if one.count == 1 {
			p.weights[len(p.weights)-1] = 0
		}
	}
	if slices.Max(p.weights) == 0 {
		p.weights[0] = 1
	}
	return p
}
