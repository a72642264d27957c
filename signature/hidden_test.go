package signature_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// tricks are ways to deceive a search for hidden text, as tried in Chromium. The first
// ones show text that looks hidden; the others hide random words between those shown.
var tricks = []struct{ name, head, begin, end, hide, unhide string }{
	{name: "canvas", begin: "<canvas>", end: "</canvas>"},
	{name: "object", begin: "<object>", end: "</object>"},
	{name: "video", begin: "<video>", end: "</video>"},
	{name: "math", begin: "<math><mtext>", end: "</mtext></math>"},
	{name: "svg", begin: "<svg><foreignObject>", end: "</foreignObject></svg>"},
	{name: "select", begin: "<select>", end: "</select>"},
	{name: "datalist", begin: "<datalist style='display:block'>", end: "</datalist>"},
	{name: "frames", begin: "<noframes>", end: "</noframes>"},
	{name: "embedded", begin: "<iframe></iframe><noembed>", end: "</noembed>"},
	{name: "open details", begin: "<details open>", end: "</details>"},
	{name: "shown by an attribute selector", head: "<style>div[style]{display:block !important}</style>", begin: "<div style='display:none'>", end: "</div>"},
	{name: "shown by a pseudo-class", head: "<style>.a{display:none}.a:not(b){display:block}</style>", begin: "<div class=a>", end: "</div>"},
	{name: "shown by a later declaration", begin: "<div style='display:none;display:block'>", end: "</div>"},
	{name: "an invalid declaration", begin: "<div style='opacity:0 !bad'>", end: "</div>"},
	{name: "shown by variables", head: "<style>div{--x:block}</style>", begin: "<div style='display:none;display:var(--x)'>", end: "</div>"},
	{name: "a sheet for print", head: "<style>@media screen{@media print{p,a{display:none}}}</style>"},
	{name: "a sheet of no known type", head: "<style type=text/x>p{display:none}</style>"},
	{name: "a sheet in an attribute", head: "<p title='<style>p,div,body{display:none}</style>'></p>"},
	{name: "a sheet in a title", head: "<title><style>p,body{display:none}</style></title>"},
	{name: "a sheet in a conditional comment", head: "<!--[if mso]><style>p{display:none}</style><![endif]-->"},
	{name: "a sheet in a layer", head: "<style>@layer a,b; @layer b{p{display:block}} @layer a{p{display:none}}</style>"},
	{name: "a string with braces", head: `<style>p{x:"}"; } q{;}p{display:none;x:{}display:block}</style>`},
	{name: "an abrupt comment", begin: "<!-->", end: ""},
	{name: "a comment in a script", begin: "<script><!--<script></script>--></script>", end: ""},
	{name: "white on a picture", begin: "<table background=x.png><td style='color:#fff'>", end: "</table>"},
	{name: "white on a gradient", begin: "<div style='background:white;background-image:linear-gradient(black,black);color:white'>", end: "</div>"},
	{name: "white in a shadow", begin: "<div style='box-shadow:inset 0 0 0 2000px #000;color:#fff'>", end: "</div>"},
	{name: "its shadow only", begin: "<div style='color:transparent;text-shadow:0 0 0 #000'>", end: "</div>"},
	{name: "moved out and in", begin: "<div style='position:relative;left:-600px;margin-left:600px'>", end: "</div>"},
	{name: "hidden and revealed", begin: "<div hidden style='display:block'>", end: "</div>"},

	{name: "computed size", hide: "<b style='font-size:calc(0px)'>", unhide: "</b>"},
	{name: "clipped by a circle", hide: "<b style='clip-path:circle(0px)'>", unhide: "</b>"},
	{name: "masked", hide: "<b style='mask:linear-gradient(transparent,transparent)'>", unhide: "</b>"},
	{name: "mixed colours", hide: "<b style='color:color-mix(in srgb,white,white)'>", unhide: "</b>"},
	{name: "a colour of CSS 4", hide: "<b style='color:oklch(1 0 0)'>", unhide: "</b>"},
	{name: "a rare name of white", hide: "<b style='color:honeydew'>", unhide: "</b>"},
	{name: "white with transparency", hide: "<b style='color:#fffffffe'>", unhide: "</b>"},
	{name: "light grey", hide: "<font size=1 color='#e6e6e6'>", unhide: "</font>"},
	{name: "content that is not shown", hide: "<b style='display:inline-block;content-visibility:hidden'>", unhide: "</b>"},
	{name: "closed details", hide: "<details style='display:inline'><summary></summary>", unhide: "</details>"},
	{name: "for programs without ruby", hide: "<rp>", unhide: "</rp>"},
	{name: "many letters to the left", hide: "<b style='position:absolute;left:-400em'>", unhide: "</b>"},
	{name: "a window to the left", hide: "<b style='position:absolute;left:-100vw'>", unhide: "</b>"},
	{name: "moved by a transformation", hide: "<b style='display:inline-block;transform:translate(-9999px)'>", unhide: "</b>"},
	{name: "no size, but scrolled", hide: "<b style='display:inline-block;width:0;height:0;overflow:auto'>", unhide: "</b>"},
	{name: "an attribute", head: "<style>[title]{display:none}</style>", hide: "<b title=''>", unhide: "</b>"},
	{name: "a scope", head: "<style>@scope{b{display:none}}</style>", hide: "<b>", unhide: "</b>"},
	{name: "an escape", head: `<style>.\31 a{display:none}</style>`, hide: "<b class=1a>", unhide: "</b>"},
	{name: "a structural pseudo-class", head: "<style>b:not(i),p>b:nth-child(n){display:none}</style>", hide: "<b>", unhide: "</b>"},
	{name: "one of a list in parentheses", head: "<style>:is(i,b){display:none}</style>", hide: "<b>", unhide: "</b>"},
	{name: "what contains something", head: "<style>p:has(b) b{display:none}</style>", hide: "<b>", unhide: "</b>"},
	{name: "a rule in a rule", head: "<style>p{& b{display:none}}</style>", hide: "<b>", unhide: "</b>"},
	{name: "a namespace", head: "<style>*|b{display:none}</style>", hide: "<b>", unhide: "</b>"},
	{name: "a property of its own", head: "<style>:root{--x:none}b{display:var(--x)}</style>", hide: "<b>", unhide: "</b>"},
	{name: "turned by a transformation", hide: "<b style='display:inline-block;transform:skewX(90deg)'>", unhide: "</b>"},
	{name: "no size in the direction of lines", hide: "<b style='display:inline-block;max-inline-size:0;max-block-size:0;overflow:hidden'>", unhide: "</b>"},
	{name: "beyond the right edge's left", hide: "<b style='position:absolute;right:200%'>", unhide: "</b>"},
	{name: "a zoom", hide: "<b style='zoom:0.01'>", unhide: "</b>"},
	{name: "a size of fonts by their small letters", hide: "<b style='font-size-adjust:0'>", unhide: "</b>"},
	{name: "a size by the window", hide: "<b style='font-size:0.001vw'>", unhide: "</b>"},
	{name: "an animation", head: "<style>@keyframes h{from,to{opacity:0;font-size:0}}</style>", hide: "<b style='animation:h 1s forwards'>", unhide: "</b>"},
	{name: "a picture in its place", hide: "<b style='content:url(data:image/gif,)'>", unhide: "</b>"},
	{name: "a grid without columns", hide: "<b style='display:inline-grid;grid-template-columns:0;overflow:hidden'>", unhide: "</b>"},
	{name: "lines without height", hide: "<b style='display:inline-block;line-height:0;overflow:hidden'>", unhide: "</b>"},
	{name: "on a path", hide: "<b style='position:absolute;offset-path:path(a)'>", unhide: "</b>"},
	{name: "below what is behind it", hide: "<b style='position:absolute;z-index:-1'>", unhide: "</b>"},
	{name: "a column of a table", hide: "<b style='display:table-column'>", unhide: "</b>"},
	{name: "what pops up", hide: "<b popover>", unhide: "</b>"},
	{name: "a colour of the system", hide: "<b style='color:Canvas'>", unhide: "</b>"},
	{name: "blurred", hide: "<b style='filter:blur(99px)'>", unhide: "</b>"},
	{name: "the colour of the text behind it", hide: "<b style='background:currentcolor'>", unhide: "</b>"},
	{name: "a sheet in a link", head: "<link rel=stylesheet href='data:text/css,b%7Bdisplay:none%7D'>", hide: "<b>", unhide: "</b>"},
	{name: "a sheet in a sheet", head: "<style>@import url('data:text/css,b{display:none}');</style>", hide: "<b>", unhide: "</b>"},
	{name: "an element of no name that counts", head: "<style>b:lang(xx){display:none}</style>", hide: "<b lang=xx>", unhide: "</b>"},
	{name: "support for what there is not", head: "<style>@supports not (a:b){b{display:none}}</style>", hide: "<b>", unhide: "</b>"},
}

// offer is the text of a spam. Each copy has a name of its own.
const offer = `the orchard investment circle is pleased to tell you that your address was chosen
from many candidates around the world for our private autumn programme. You did not have to apply
as every member was selected by our analysts and only nine other households in your region received
this letter. Our members doubled their savings within eleven weeks without any risk because a
retired engineer discovered how the large exchanges settle their accounts at night. Television
refuses to speak about this method and the banks try to forbid it. To take part you open a free
account on our protected page and transfer the small starting amount. A personal manager will
telephone you and guide you through the simple formalities.`

// copyOf returns an offer to somebody, with hidden words if the trick has some.
func copyOf(rng *rand.Rand, head, begin, end, hide, unhide string) signature.Message {
	var text strings.Builder
	for _, word := range append([]string{"Dear", letters(rng.IntN(1e6))}, strings.Fields(offer)...) {
		text.WriteString(word + " ")
		if hide != "" {
			text.WriteString(hide + letters(rng.IntN(1e6)) + unhide + " ")
		}
	}
	return signature.Parse([]byte("Content-Type: text/html\n\n<html><head>" + head + "</head><body>" + begin + "<p>" + text.String() + "</p>" + end))
}

// finds reports whether b is found by a report of a.
func finds(a, b signature.Set) bool {
	keyed, reported := sketchtest.KeyedBy(1), sketchtest.Store{}
	for _, s := range a.Sketches {
		reported.Report(s, keyed)
	}
	for _, s := range b.Sketches {
		if _, ok := reported.Found(s, keyed); ok {
			return true
		}
	}
	for _, s := range b.Signatures {
		for _, other := range a.Signatures {
			if s == other {
				return true
			}
		}
	}
	return false
}

// A copy that deceives about hidden text is found, whether the reported one deceives or
// not.
func TestTricks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	plain := signature.Compute(copyOf(rng, "", "", "", "", ""))
	for _, tt := range tricks {
		one, other := signature.Compute(copyOf(rng, tt.head, tt.begin, tt.end, tt.hide, tt.unhide)), signature.Compute(copyOf(rng, tt.head, tt.begin, tt.end, tt.hide, tt.unhide))
		if !finds(one, other) {
			t.Errorf("%s: reported, and another copy is not found", tt.name)
		}
		if !finds(plain, other) {
			t.Errorf("%s: a copy without the trick was reported, and this one is not found", tt.name)
		}
		// A decoy that counts as shown does not help.
		decoy := func() signature.Message {
			return copyOf(rng, tt.head, "<p>"+lengthyFrom(rng, 60)+"</p>"+tt.begin, tt.end, tt.hide, tt.unhide)
		}
		if tt.hide == "" && !finds(signature.Compute(decoy()), signature.Compute(decoy())) {
			t.Errorf("%s: with a decoy, another copy is not found", tt.name)
		}
	}
}

// lengthyFrom returns a text of n random words.
func lengthyFrom(rng *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = letters(rng.IntN(1e6))
	}
	return strings.Join(words, " ")
}

// A spam that brings an innocent newsletter where its readers do not see it does not list
// that newsletter, however it is hidden and however little the spam shows.
func TestHiddenFraming(t *testing.T) {
	const newsletter = "Content-Type: text/html\n\n<html><body><h1>News of the allotment society</h1><p>%s</p></body></html>"
	innocent := fmt.Sprintf(newsletter, ampleProse)
	withPreheader := fmt.Sprintf(newsletter, "<div style='display:none'>The plan of the garden, and what else is new this week in our society</div>"+ampleProse)
	for _, victim := range []string{innocent, withPreheader, "Content-Type: text/plain\n\n" + ampleProse} {
		_, page, _ := strings.Cut(victim, "\n\n")
		for _, shown := range []string{"<img src=cid:a>", "<p>Buy now!</p>", phish + "</p>", "<p>" + offer + "</p>"} {
			for _, hide := range []string{"<div style='display:none'>%s</div>", "<div hidden>%s</div>", "<canvas>%s</canvas>", "<div style='font-size:0'>%s</div>",
				"<style>#x{display:none}</style><div id=x>%s</div>", "<div style='color:#fff'>%s</div>", "<object>%s</object>",
				"<div style='zoom:.01'>%s</div>", "<div style='font-size-adjust:0'>%s</div>", "<style>@keyframes h{from,to{opacity:0}}</style><div style='animation:h 1s forwards'>%s</div>",
				"<div style='content:url(data:image/gif,)'>%s</div>", "<div style='display:table-column'>%s</div>", "<div style='display:grid;grid-template-rows:0;overflow:hidden'><div>%s</div></div>",
				"<div style='line-height:0;overflow:hidden'>%s</div>", "<div style='position:absolute;offset-path:path(a)'>%s</div>", "<div popover>%s</div>", "<div style='font-size:.001vw'>%s</div>",
				"<div style='color:Canvas'>%s</div>", "<div style='filter:blur(99px)'>%s</div>", "<style>:not(html,body,p){display:none}</style><div>%s</div>",
				"<style>:link{font-size:0}</style><a href=http://a.example/><div>%s</div></a>", "<style>p::first-line,div::first-line{font-size:0}</style><div>%s</div>", "<div style='background:oklch(1 0 0);color:#fff'>%s</div>", "<div style='background:tomato;color:tomato'>%s</div>",
				"<div style='opacity:.2'><div style='opacity:.2'>%s</div></div>", "<div style='width:0'><div style='overflow:hidden'>%s</div></div>", "<style>.q{display:none}</style><div class=q id=" + strings.Repeat("i", 65) + ">%s</div>",
				"<link rel=stylesheet href='data:text/css,.q%%7Bdisplay:none%%7D'><div class=q>%s</div>", "<style>@import url(data:text/css;base64,LnF7ZGlzcGxheTpub25lfQ==);</style><div class=q>%s</div>",
				"<style>.a{background:url(/*)}.q{display:none}</style><div class=q>%s</div>", "<style>.a{--a:';@x {{'}.q{display:none}</style><div class=q>%s</div>",
				"<style>.q{color:red;@media all{display:none}}</style><div class=q>%s</div>", "<style>.q{i{color:red}display:none}</style><div class=q>%s</div>",
				"<iframe srcdoc='%s'></iframe>", "<style>#x::before{content:'%s'}</style>", "<select hidden><option label='%s'></select>"} {
				spam := signature.Compute(signature.Parse([]byte("Content-Type: text/html\n\n" + shown + fmt.Sprintf(hide, strings.ReplaceAll(page, "'", "")))))
				if spam.Limits != 0 || len(spam.Sketches) == 0 {
					t.Fatalf("%.30q hides %.40q: sketches %d, limits %v", shown, hide, len(spam.Sketches), spam.Limits.Names())
				}
				if finds(spam, signature.Compute(signature.Parse([]byte(victim)))) {
					t.Errorf("a spam %.30q that hides a newsletter by %.40q lists %.60q", shown, hide, victim)
				}
			}
		}
	}
}

// The words of a guard do not keep a spam out of reports if only one of its readings has
// them.
func TestGuardsOfBothReadings(t *testing.T) {
	const code = "<p>Your verification code is 482913. It is valid for ten minutes, please do not share this code with anybody, our staff never asks for it on the telephone or by mail.</p>"
	for name, page := range map[string]string{"shown": code + "<object>" + offer + lengthy(40) + "</object>", "hidden": "<p>" + offer + "</p><div hidden>" + code + "</div>"} {
		s := signature.Compute(signature.Parse([]byte("Content-Type: text/html\n\n" + page)))
		if len(ofKind(s, signature.KindText)) == 0 || s.Sketches[len(s.Sketches)-1].AskOnly {
			t.Errorf("a code that is %s: signed by %q", name, kinds(s))
		}
	}
	if s := signature.Compute(signature.Parse([]byte("Content-Type: text/html\n\n" + code))); hasWeak(s) {
		t.Errorf("a code's mail is signed by %q", kinds(s))
	}
}

// Mail that hides a few words has one reading.
func TestLittleHidden(t *testing.T) {
	for hidden, want := range map[int]int{0: 1, 8: 1, 60: 3} {
		page := "<div style='display:none'>" + lengthy(hidden) + "</div><p>" + offer
		if s := signature.Compute(signature.Parse([]byte("Content-Type: text/html\n\n" + page))); len(s.Sketches) != want {
			t.Errorf("%d hidden words: %d sketches, want %d", hidden, len(s.Sketches), want)
		}
	}
}
