package page_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/span"
)

// shows returns what a reader sees of a page.
func shows(source string) string {
	var r page.Reader
	shown := r.Read([]byte(source))
	text := page.InShownOrder(span.Without(shown.Hidden, shown.Text))
	return strings.Join(strings.Fields(string(text)), " ")
}

func TestVisible2(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"class", "<style>.x{display:none}</style>a<p class='y x'>b</p>c", "ac"},
		{"id", "<style>#x{visibility:hidden}</style>a<p id=x>b</p>c", "a c"},
		{"element", "<STYLE type=text/css><!-- B { Display : None } --></STYLE>a<b>b</b>c", "ac"},
		{"element with class", "<style>b.x{display:none}</style>a<b class=x>b</b><i class=x>c</i>", "a"},
		{"list of selectors", "<style>.y,\n.x , h1{display:none}</style>a<p class=x>b<h1>c</h1>d", "ad"},
		{"sheet behind the text", "a<p class=x>b</p>c<style>.x{display:none}</style>", "ac"},
		{"sheet of Outlook", "<!--[if mso]><style>.x{display:none}</style><![endif]-->a<b class=x>b</b>", "ab"},
		{"sheet for small screens", "<style>@media (max-width:600px){.x{display:none} .y{color:red}} .z{display:none}</style>a<b class=x>b</b><b class=z>c</b>", "ab"},
		{"import and comments", "<style>@import url(x);/* } .y{ */.x{display:none}</style>a<b class=x>b</b>", "a"},
		{"the style attribute counts more", "<style>.x{display:none}</style>a<b class=x style='display:inline'>b</b>", "a"},
		{"but for what is important", "<style>.x{display:none !important}</style>a<b class=x style='display:inline'>b</b>", "a"},
		{"tiny", "a<b style='font-size:1px'>b</b><b style='font:2px Arial'>c</b><b style='font-size:3px'>d</b>", "ad"},
		{"font of no size", "a<b style='font:0/0 a'>b</b><b style='font-size:0.05em'>c</b>", "a"},
		{"tiny outside", "<div style='font-size:1px'>a<b style='font-size:2em'>b</b><b style='font-size:12px'>c</b></div>", "c"},
		{"white on white", "a<font color=white>b</font><span style='color:#FEFEFE'>c</span><span style='color:rgb(255, 255, 255)'>d</span>", "a"},
		{"white on blue", "<table><td bgcolor=#0000ff><font color=#fff>a</font></table><body bgcolor=black text=white>b", "a b"},
		{"black on black", "<body bgcolor=#000000><p>a</p><font color=#ffffff>b</font>", "b"},
		{"white on a picture", "<div style='background:url(x.png)'><font color=white>a</font></div><table background=x.png><td style='color:#fff'>b</table>", "a b"},
		{"white on an unknown background", "<style>p+.x{background:#00f;color:#fff}</style><a class=x href=y style='color:#fff'>a</a>", "a"},
		{"link", "<body bgcolor=black><a href=x>a</a>b", "a"},
		{"see through", "a<b style='color:transparent'>b</b><b style='opacity:0'>c</b><b style='color:rgba(0,0,0,0)'>d</b>", "a"},
		{"no height", "a<p style='max-height:0px;overflow:hidden'>b</p><p style='height:0'>c</p><p style='height:1px;overflow:hidden'>d</p>", "a c"},
		{"outside", "a<p style='text-indent:-9999px'>b</p><p style='position:absolute;left:-2000px'>c</p><p style='margin-left:-5px'>d</p><p style='left:-2000px'>e</p>", "a d e"},
		{"hidden for Outlook", "a<p style='mso-hide:all'>b</p>c", "ac"},
		{"hidden for screen readers is seen", "a<b aria-hidden=true>b</b><img alt=c>", "ab"},
		{"raw text", "a<xmp><b>c</xmp><plaintext>d<p>", "a <b>c d<p>"},
		{"conditional comments", "<!--[if mso]>a<![endif]--><![if !mso]>b<![endif]>", "b"},
		{"nested", "<style>.x{display:none}</style><div class=x>a<div>b</div><p style='display:block'>c</div>d", "d"},
		{"sheet without end", "a<style>.x{display:none", "a"},
		{"collapsed", "a<b style='visibility:collapse'>b</b>c", "ac"},
		{"small in other measures", "a<b style='font-size:0.05rem'>b</b><b style='font-size:1pt'>c</b><b style='font-size:calc(1px)'>d</b><b style='font-size:3pt'>e</b>", "ae"},
		{"numbers too large for a double", "a<p style='text-indent:-1e309px'>b</p><p style='margin-left:-9e999px'>c</p><p style='position:absolute;left:-1e309px'>d</p><p style='letter-spacing:-1e309px'>e</p>f", "af"},
		{"margins outside", "a<p style='margin-left:9999px'>b</p><p style='margin-top:-900px'>c</p><p style='margin-right:-900px'>d</p><p style='margin:calc(0px-9in)'>e</p><p style='margin-left:-60em'>f</p>g", "ag"},
		{"beside the box", "a<p style='text-indent:100%;overflow:hidden;white-space:nowrap'>b</p><p style='padding-left:100%'>c</p><p style='margin-left:50%'>d</p>", "a c d"},
		{"places outside", "a<p style='position:absolute;right:-900px'>b</p><p style='position:absolute;bottom:-900px'>c</p><p style='position:fixed;inset:-900px'>d</p>e", "ae"},
		{"masks", "a<b style='-webkit-mask:url(x)'>b</b><b style='mask-image:url(x)'>c</b><b style='clip-path:inset(1px)'>d</b><b style='mask:none'>e</b>", "ae"},
		{"moved", "a<b style='scale:0'>b</b><b style='translate:-900px'>c</b><b style='content-visibility:hidden'>d</b><b style='translate:none'>e</b>", "ae"},
		{"no width", "a<p style='overflow-x:hidden;width:0'>b</p>c", "ac"},
		{"colours of their own", "a<b style='-webkit-text-fill-color:white'>b</b><b style='background-color:black;color:black'>c</b><b style='background:black no-repeat;color:black'>d</b>", "a"},
		{"colours from outside", "a<b style='color:white'>b<i style='color:inherit'>c</i><i style='background-color:transparent'>d</i><i style='background-color:inherit'>e</i><i style='background:none'>f</i></b>", "a"},
		{"forms of colours", "a<b style='color:var(--x)'>b</b><b style='color:#00000000'>c</b><b style='color:#ffffffff'>d</b><b style='color:rgb(100% 100% 100%)'>e</b><b style='color:rgb(300,255,255)'>f</b><b style='color:#fff'>g</b>", "a"},
		{"names of colours", "a<b style='color:gainsboro'>b</b><b style='background-color:navy;color:navy'>c</b>", "a"},
		{"no colour, or one of a new form", "a<b style='background-color:rgb(0,0,0,1,1);color:black'>b</b>", "a"},
		{"sizes that multiply", "a<p style='zoom:0.5'>b<b style='zoom:20%'>c</b></p><p style='font-size:30%'>d<b style='font-size:30%'>e</b></p><p style='opacity:.2'>f<b style='opacity:.2'>g</b></p>", "a b d f"},
		{"sizes by the root", "<html style='font-size:1px'><body style='font-size:16px'>a<p style='font-size:1rem'>b</p><p style='font-size:12rem'>c</p>", "a c"},
		{"small sizes in other measures", "a<b style='font-size:0.001vw'>b</b><b style='font-size-adjust:0'>c</b><b style='font:calc(0px) a'>d</b><b style='zoom:.1'>e</b><b style='zoom:calc(0)'>f</b><b style='font:12px/1.4 a;zoom:1;font-size-adjust:inherit'>g</b>", "ag"},
		{"an animation", "<style>@keyframes h{from{color:red}to{font-size:0}}.x{animation:h 1s forwards}</style>a<b class=x>b</b><b style='animation:none'>c</b>", "ac"},
		{"an animation that is declared later", "a<b style='animation:h 1s'>b</b><style>@-webkit-keyframes h{to{visibility:hidden}}</style>", "a"},
		{"an animation that does not hide", "<style>@keyframes h{from{transform:scale(1)}to{transform: scale(1.2) rotate(2deg);letter-spacing:1px}}</style>a<b style='animation:h 1s'>b</b>", "ab"},
		{"the style before a transition", "<style>@starting-style{.x{opacity:0}}.x{transition:opacity 9999s}</style>a<b class=x>b</b>", "a"},
		{"a picture in its place", "a<b style='content:url(data:,)'>b</b><b style='content:normal'>c</b>", "ac"},
		{"columns of tables", "a<b style='display:table-column'>b</b><b style='display:table-column-group'>c</b><b style='display:table-cell'>d</b>", "a d"},
		{"a grid without size", "a<p style='display:grid;grid-template-columns:0;overflow:hidden'>b</p><p style='display:grid;grid-template:0/1fr'><b style='overflow:hidden'>c</b></p><p style='display:grid;overflow:hidden;grid-template-columns:repeat(2,minmax(0,1fr))'>d</p>", "a d"},
		{"a box in one without width", "a<div style='width:0'><div style='overflow:hidden'>b</div><div style='overflow:hidden;width:50px'>c</div></div>", "a c"},
		{"cells are as wide as their text", "<table style='width:0px;table-layout:fixed'><td style='overflow:hidden'>a</table>b", "a b"},
		{"lines without height", "a<p style='line-height:0;overflow:hidden'>b<b style='line-height:20px'>c</b></p><div style='overflow:hidden'><p style='font:12px/0 a'>d</p></div><p style='line-height:0'>e</p>", "a c e"},
		{"a raised letter on a page that does not scroll", "<style>sup{line-height:0;font-size:75%}</style><body style='overflow-x:hidden'>a<sup>b</sup>", "ab"},
		{"on a path", "a<b style='position:absolute;offset-path:path(a)'>b</b>", "a"},
		{"an attribute of HTML that hides", "a<div popover>b</div><textarea style='height:1px'>c</textarea><textarea>d</textarea><marquee height=1>e</marquee><marquee>f</marquee>", "a d f"},
		{"a background in the colour of the text", "a<b style='background:currentColor'>b</b><b style='border:1px solid currentcolor'>c</b>", "ac"},
		{"colours of the system", "a<b style='color:Canvas'>b</b><b style='background:CanvasText'>c</b><b style='color:windowtext'>d</b>", "ad"},
		{"all names of colours", "a<b style='background:tomato;color:tomato'>b</b><b style='background:tomato;color:navy'>c</b>", "ac"},
		{"colours that are hardly there", "a<b style='color:rgba(0,0,0,.1)'>b</b><b style='color:#00000014'>c</b><b style='background:rgba(0,0,0,.1)'>d</b>", "ad"},
		{"backgrounds of new forms", "a<div style='background:oklch(1 0 0);color:#fff'>b</div><div style='background:linear-gradient(oklch(1 0 0),oklch(1 0 0));color:#fff'>c</div><div style='background:linear-gradient(rgba(0,0,0,.5),transparent);color:#fff'>d</div>", "a d"},
		{"computed sizes", "a<p style='overflow:hidden;width:calc(100% - 2px)'>b</p><p style='overflow:hidden;height:min(0px,100%)'>c</p><p style='overflow:hidden;max-width:var(--x)'>d</p><p style='overflow:hidden;width:var(--x-0px,50%)'>e</p><p style='overflow:hidden;width:var(--x,1px)'>f</p><p style='overflow:hidden;height:calc(1 * 20px)'>g</p><p style='overflow:hidden;line-height:calc(1em + 4px)'>h</p><p style='overflow:hidden;line-height:calc(0 * 1em)'>i</p><p style='overflow:hidden;flex-basis:0'>j</p>", "a b e g h j"},
		{"computed columns", "<p style='display:grid;grid-template-columns:repeat(2,50%);overflow:hidden'>a</p><p style='display:grid;grid-template-columns:repeat(2,0px);overflow:hidden'>b</p><p style='display:grid;grid-template-columns:repeat(2,minmax(200px,1fr));overflow:hidden'>c</p>", "a c"},
		{"computed distances", "<p style='padding:calc(1rem + 4px)'>a</p><p style='padding-left:calc(500px + 5vw)'>b</p><p style='padding:0 calc((100% - 600px) / 2)'>c</p><p style='padding:calc(0px - -9999px)'>d</p><p style='word-spacing:calc(-999px)'>e</p><p style='letter-spacing:calc(0px - 9px)'>f</p><p style='letter-spacing:calc(.01em - 1px)'>g</p><p style='vertical-align:var(--x)'>h</p><p style='text-indent:calc(1px)'>i</p><p style='margin:calc(1px)'>j</p><p style='position:absolute;left:calc(1px)'>k</p>", "a c g h"},
		{"distances of a whole box", "<p style='padding-top:100%'>a</p><p style='position:absolute;left:100%'>b</p><p style='position:absolute;top:100%'>c</p><p style='position:absolute;left:100vw'>d</p><p style='padding-left:100vw'>e</p>", "a b c"},
		{"the end of an animation", "<style>@keyframes h{from{opacity:0;font-size:0}to{opacity:1}}.x{animation:h 1s ease-in .5s both}.p{animation-play-state:paused}</style>a<b class=x>b</b><b style='animation:h 1s reverse'>c</b><b style='animation:h 10s'>d</b><b style='animation:h 1s infinite'>e</b><b style='animation:h 10000ms'>f</b><b class='x p'>g</b><b style='animation:h 1s calc(9s*9)'>h</b><b style='animation:h 1s;animation-direction:alternate-reverse'>i</b><b style='animation:h var(--s)'>j</b><b style='animation:h linear both;animation-timeline:view()'>k</b>", "ab"},
		{"the last frame of an animation", "<style>@keyframes h{0%{color:red}99%,100%{opacity:0}}</style>a<b style='animation:h 1s forwards'>b</b>", "a"},
		{"colours of an animation", "<style>@keyframes h{50%{background:#000}to{color:#fff}}</style>a<b style='animation:h 1s'>b</b><p style='background:navy'><b style='animation:h 1s infinite'>c</b></p>", "a c"},
		{"a way in", "<style>@keyframes h{to{opacity:1;transform:translate3d(0,0,0) scale3d(1,1,1)}}@keyframes i{to{transform:translate(0,-9999px)}}</style><b style='animation:h 1s'>a</b>", ""},
		{"a way in alone", "<style>@keyframes h{from{transform:translate3d(0,-100%,0);opacity:0}to{opacity:1;transform:translate3d(0,0,0) scale3d(1,1,1)}}</style><b style='animation:h 1s'>a</b>", "a"},
		{"filters that leave text", "<b style='filter:drop-shadow(0 0 1px #000)'>a</b><b style='filter:grayscale(1) sepia(1) saturate(2) hue-rotate(1deg)'>b</b><b style='filter:sepia(1) contrast(0)'>c</b><b style='filter:invert(1)'>d</b><b style='filter:url(#x)'>e</b><b style='filter:drop-shadow(0 0 0 #fff) opacity(0)'>f</b>", "ab"},
		{"below without a position", "a<b style='z-index:-1'>b</b><b style='z-index:var(--z);position:relative'>c</b><b style='z-index:-1;position:static'>d</b><b style='z-index:calc(-1);position:relative'>e</b>", "abcd"},
		{"strokes", "a<b style='-webkit-text-stroke:0px #fff'>b</b><b style='-webkit-text-stroke:#fff'>c</b><b style='-webkit-text-stroke:#fff;-webkit-text-stroke-width:20px'>d</b><b style='-webkit-text-stroke:thick white'>e</b><b style='-webkit-text-stroke-width:9px'>f</b><b style='-webkit-text-stroke-color:#fff'>g</b><b style='-webkit-text-stroke:rgb(255, 255, 255)'>h</b><b style='-webkit-text-stroke:2px rgb(255, 255, 255)'>i</b>", "abcfgh"},
		{"computed sizes of fonts", "a<b style='font-size:clamp(16px,4vw,24px)'>b</b><b style='font-size:calc(14px + .2vw)'>c</b><b style='font:max(1rem,12px)/1.4 a'>d</b><b style='font-size:min(16px,.01vw)'>e</b><b style='font-size:calc(20px - 19px)'>f</b><b style='font-size:calc(.01 * 16px)'>g</b><b style='font-size:calc(16px/99)'>h</b><b style='font-size:calc(16px + -15px)'>i</b><b style='font-size:attr(x)'>j</b><b style='font-size:calc(mod(17px,16px))'>l</b><b style='font-size:var(--x,16px)'>k</b>", "abcd"},
		{"a dark mode of Gmail", "<style>u + .b .x{mix-blend-mode:screen}u+.b .y{mix-blend-mode:difference}u + .b .z{mix-blend-mode:color}.u + .v{mix-blend-mode:screen}</style>a<b class=x>b</b><b class=y>c</b><b class=z>d</b><b class=v>e</b>", "abc"},
		{"colours of hues", "a<b style='color:hsl(210,20%,26%)'>b</b><b style='color:hsl(0 0% 98%)'>c</b><b style='color:hwb(120deg 0% 0% / 1)'>d</b><b style='color:hsla(0,0%,0%,.05)'>e</b><b style='color:oklch(.4 .1 200)'>f</b><p style='background:hsl(0,0%,100%)'>g<i style='color:#fff'>h</i></p><p style='background:hsl(240,100%,50%);color:#fff'>i</p>", "abdf g i"},
		{"colours of variables", "a<p style='background:var(--x)'>b</p><p style='background:var(--x,#f4f4f4)'>c<i style='color:#fff'>d</i></p><b style='color:var(--x, var(--y, navy))'>e</b><b style='color:var(--x,white)'>f</b><p style='background:rgb(var(--x));color:#fff'>g</p><p style='background:hsl(var(--x))'>h</p><p style='background:color-mix(in srgb,red,blue);color:#fff'>i</p>", "a b c e g h i"},
		{"gradients of functions", "<p style='background:linear-gradient(rgb(0,0,0),hsl(0,0%,4%));color:#000'>a</p><p style='background:linear-gradient(90deg,rgb(0,0,0),#fff);color:#fff'>b</p><p style='background:linear-gradient(var(--a),#fff);color:#fff'>c</p><p style='background:linear-gradient(#fff calc(1px),hsl(0,0%,99%)),url(x);color:#fff'>d</p>", "b c"},
		{"colours of attributes", "a<font color='#fffffffff'>b</font><font color='chucknorris'>c</font><table bgcolor=transparent><td bgcolor=''>d</table>", "ac d"},
		{"filters", "a<b style='filter:blur(99px)'>b</b><b style='-webkit-filter:brightness(100)'>c</b><b style='filter:none'>d</b><b style='filter:progid:DXImageTransform.Microsoft.gradient(a=b)'>e</b>", "ade"},
		{"covered", "a<b style='z-index:-1;position:absolute'>b</b><b style='mix-blend-mode:screen'>c</b><b style='-webkit-text-stroke:20px #fff'>d</b><b style='-webkit-text-stroke-width:0px;mix-blend-mode:unset;z-index:1'>e</b>", "ae"},
		{"written over each other, or apart", "a<b style='letter-spacing:-99px'>b</b><b style='padding-left:9999px'>c</b><b style='letter-spacing:-1px;padding:10px 5%'>d</b>", "ad"},
		{"no pseudo-class", "<style>b:{display:none} [title]{color:white}</style>a<b>b</b><i title=x>c</i>", "ab"},
		{"on pictures", "a<b style='background:url(x) black;color:black'>b</b><b style='background-image:url(x);color:white'>c</b>", "abc"},
		{"computed looks", "a<b style='display:var(--x)'>b</b><b style='visibility:var(--x)'>c</b><b style='opacity:calc(1 - 1)'>d</b><b style='font-size:1e-3px'>e</b><b style='font-size:1e2px'>f</b>", "af"},
		{"turned", "a<b style='transform:matrix(0,0,0,0,0,0)'>b</b><b style='transform:skewx(90deg)'>c</b><b style='rotate:y 90deg'>d</b><b style='transform:none;rotate:none'>e</b>", "ae"},
		{"sizes by the direction of writing", "a<p style='max-block-size:0;overflow:hidden'>b</p><p style='inline-size:0;overflow-inline:clip'>c</p><p style='contain:strict;overflow:hidden'>d</p><p style='block-size:0'>e</p>", "a e"},
		{"far to the left", "a<p style='position:absolute;right:200%'>b</p><p style='position:absolute;inset-inline-end:900px'>c</p><p style='position:fixed;inset-block:-900px'>d</p><p style='position:absolute;left:200px;right:200px'>e</p>", "a e"},
		{"a gradient of one colour", "<div style='background:linear-gradient(90deg,#eee,#efefef)'>a<b style='color:#eee'>b</b></div><div style='background-image:linear-gradient(#fff,#000)'><b style='color:#fff'>c</b></div>", "a c"},
		{"letters from right to left", "<style>.r{direction:rtl}</style>a <b style='unicode-bidi:bidi-override;direction:rtl'>dcb</b> <b class=r style='unicode-bidi:isolate-override'>fe</b> <b class=r>gh</b>", "a \u202ebcd\u202c \u202eef\u202c gh"},
		{"font before a rule", "<style>@font-face{font-family:a;src:url(b)}.x{display:none}</style>a<b class=x>b</b>", "a"},
		{"blanks in a pseudo-class", "<style>b:nth-child(2n + 1){display:none}</style>a<b>b</b>", "a"},
	} {
		if got := shows(tt.in); got != tt.want {
			t.Errorf("%s: %q shows %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// A rule counts by the simplest condition of its selector on the element itself. Text
// that a browser shows nevertheless is in the other reading.
func TestSelectors(t *testing.T) {
	for _, tt := range []struct{ name, sheet, in, want string }{
		{"descendant", ".o .x{display:none}", "<div class='n o'><p><b class=x>a</b></div><b class=x>b</b>", ""},
		{"child", ".o>b{display:none}", "<div class=o><b>a</b><i><b>b</b></i></div>", ""},
		{"child of a child", "div > p > b{display:none}", "<div><p><b>a</b><i><b>b</b></i></div><p><b>c</b>", ""},
		{"several classes", ".x.y{display:none}", "<b class='y z x'>a</b><b class=x>b</b><b class=xy>c</b>", "c"},
		{"any element", "*.x{display:none} #i *{display:none}", "<b class=x>a</b><p id=i>b<b>c</b>", ""},
		{"element, class and id", "b.x#i{display:none}", "<b class=x id=i>a</b><b class=x>b</b><i class=x id=i>c</i>", "b"},
		{"shown again", ".x{display:none}.o .x{display:block}", "<div class=o><p class=x>a</div>", ""},
		{"what is closed is no ancestor", ".o .x{display:none}", "<div class=o></div><b class=x>a</b>", ""},
		{"of a list", "i,.o .x,u{display:none}", "<p class=o><b class=x>a</b><u>b</u>c", "c"},
		{"pseudo-class", ".x:hover{display:none}.x::before{display:none}", "<b class=x>a</b>", "a"},
		{"nothing before it", "> .x{display:none}", "<b class=x>a</b>", ""},
		{"a page's screen", "@media screen and (min-width:300px){.x{display:none}} @media print{.y{display:none}} .z{display:none}", "<b class=x>a</b><b class=y>b</b><b class=z>c</b>", "b"},
		{"blocks of blocks", "@supports (display:block){@media all{.x{display:none}}} @supports not (a:b){.y{display:none}}", "<b class=x>a</b><b class=y>b</b>", ""},
		{"a telephone's screen", "@media only screen and (max-width:37.5em), print{.x{display:none}}", "<b class=x>a</b>", "a"},
		{"comments", ".a/* {*/,/**/.x /*b*/{/**/display/*:*/:/**/none/*", "<b class=x>a</b>b", "b"},
		{"a comment in quotes", ".a{content:'/*'}.x{display:none}.b{content:'*/'}", "<b class=x>a</b>b", "b"},
		{"escapes", `.x{d\69splay:n\00006f ne}.y{\44 isplay:block;displa\y:none}`, "<b class=x>a</b><b class=y>b</b>c", "c"},
		{"one of a list in parentheses", ":is(.x,u){display:none} p :where(s, q:hover){display:none}", "<b class=x>a</b><u>b</u><s>c</s><q>d</q>", "d"},
		{"lists in lists", ":is(:where(:is(b),i),u){display:none}", "<b>a</b><i>b</i><u>c</u>d", "d"},
		{"conditions in parentheses", "p:has(b) i{display:none} u:not(.x, p > .y){display:none}", "<p>a<b>b</b><i>c</i><u>d</u>", "ab"},
		{"blanks and signs in brackets", `i[class~="x"],u[title="a > b" i]{display:none}`, "<i class=x>a</i><u title='A > B'>b</u>c", "c"},
		{"namespaces", "@namespace h url(x);h|i,*|u,*|*.x{display:none}", "<i>a</i><u>b</u><b class=x>c</b>d", "d"},
		{"rules in rules", "p{color:red;i{display:none}& u{display:none;} &:hover{display:none}} .x{display:none}", "<p>a<i>b</i><u>c</u></p><b class=x>d</b>", "a"},
		{"declarations behind a rule in a rule", "p{i{display:none}color:red}.x{display:none}", "<i>a</i><b class=x>b</b>c", "c"},
		{"declarations that hide behind a rule in a rule", "p{i{u{color:red}font-size:0}display:none}", "<p>a</p><i>b</i>c", "c"},
		{"declarations in a block of media in a rule", "p{color:red;@media all{display:none;color:red}@media print{display:none}}b{@media print{display:none}}", "<p>a</p><b>b</b>", "b"},
		{"the rule around", "p{&{display:none}i &,b{display:none}}", "<p>a</p><b>b</b>c", "c"},
		{"signs in strings and URLs", "p{--a:';@x {{'}b{background:url(/*)}i{--b:url(a;@x{{b)}u{display:none}", "a<u>b</u>", "a"},
		{"a faulty address", "@import 'data:text/css,u%7Bdisplay:none%7D/*%*/'", "<u>a</u>b", "b"},
		{"imported", "@import 'data:text/css,u{display:none}';@import url(\"data:text/css;base64,aXtkaXNwbGF5Om5vbmV9\") all;@import url(b);@import\\", "<u>a</u><i>b</i>c", "c"},
		{"media that are not paper", "@media not print{.x{display:none}}@media print{.y{display:none}}", "<b class=x>a</b><b class=y>b</b>", "b"},
		{"at-rules of other things", "@-moz-document url-prefix(){.x{display:none}}@keyframes .x{from{display:none}}@scope(.o){.y{display:none}}", "<b class=x>a</b><b class=y>b</b>", "a"},
		{"none but pseudo-classes", "p>:not(u){display:none}", "<p>a<b>b</b></p>c", "c"},
		{"a language", "p :lang(xx){display:none}", "<p>a</p>", ""},
		{"any child", "p>:nth-child(n){display:none}", "<p>a</p>", ""},
		{"the first line", "p::first-line{font-size:0}", "<p>a</p>b", "b"},
		{"states and pieces", ":hover{display:none}:disabled{display:none}::before{display:none}:-moz-placeholder{display:none}:any-link{display:none}", "<p>a</p><a href=x>b</a>", "a"},
		{"one of several media", "@media (max-width:1px),screen{u{display:none}}@media print,all{i{display:none}}@media (max-width:99em){b{display:none}}@media(max-aspect-ratio:9/1){s{display:none}}", "<u>a</u><i>b</i><b>c</b><s>d</s>e", "e"},
		{"media that do not hold less", "@media not all and (max-width:1px){u{display:none}}@media (max-width:calc(9999px)){i{display:none}}@media (max-width:600px){b{display:none}}", "<u>a</u><i>b</i><b>c</b>", "c"},
		{"comments of HTML", "<!--u{display:none}-->i{display:none}", "<u>a</u><i>b</i>c", "c"},
		{"a sheet in a drawing", "</style><svg><style><![CDATA[u{display:none}]]></style><style>&#46;x{display:none}</style></svg><style>", "<u>a</u><i class=x>b</i>c", "c"},
		{"links", ":link{display:none}", "<a href=x>a</a>b", "b"},
		{"links of a class, not by colours", ".x:link{color:#fff}.y:link{font-size:0}", "<a class=x href=x>a</a><a class=y href=x>b</a>", "a"},
		{"an attribute without use", "[lang]{display:none}", "<p lang=xx>a</p>", ""},
		{"an attribute of many", "[onclick]{display:none}", "<p onclick=a>a</p>b", "b"},
		{"long names", "." + strings.Repeat("x", 200) + ",.y{display:none}", "<p class=" + strings.Repeat("x", 200) + ">a</p><p class=y id=" + strings.Repeat("i", 65) + ">b</p>c", "c"},
		{"no escape of what ends", `.x{color:red\3b display:none}`, "<b class=x>a</b>b", "ab"},
	} {
		if got := shows("<style>" + tt.sheet + "</style>" + tt.in); got != tt.want {
			t.Errorf("%s: %q shows %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// Text that stands in a style sheet or an attribute is hidden text of the page, if it shows no other:
// a program may show it, or nothing of it.
func TestGeneratedText(t *testing.T) {
	long := strings.Repeat("generated words ", 7)
	for _, tt := range []struct{ name, in, shown, hidden string }{
		{"before elements", `<style>p::before{content:"` + long + `" 'and more'}</style><p></p><a href=x>go</a>`, "go", long + "and more"},
		{"a page in a page", `<iframe srcdoc="` + long + `"></iframe>`, "", long},
		{"labels of a list", `<select size=2><option label="` + long + `">x<option label=more></select>`, "", "x" + long + " more"},
		{"beside text", `<style>p::before{content:"` + long + `"}</style><p>a page of its own`, "a page of its own", ""},
		{"beside hidden text", `<style>p::before{content:"` + long + `"}</style><p></p><b hidden>hidden words that nobody sees</b>`, "", "hidden words that nobody sees " + long},
		{"signs of a list", `<style>li::before{content:"-"}</style><li>a`, "a", ""},
		{"once, although the page is read twice", `<b class=x>a</b><style>.x{display:none}.y{content:"` + long + `"}</style>`, "", "a " + long},
	} {
		if got := shows(tt.in); got != tt.shown {
			t.Errorf("%s: %q shows %q, want %q", tt.name, tt.in, got, tt.shown)
		}
		var r page.Reader
		all := strings.Join(strings.Fields(string(r.Read([]byte(tt.in)).Text)), "")
		if want := strings.Join(strings.Fields(tt.hidden), ""); !strings.HasSuffix(all, want) || len(all) != len(want)+len(strings.Join(strings.Fields(tt.shown), "")) {
			t.Errorf("%s: all of %q is %q, want %q behind %q", tt.name, tt.in, all, want, tt.shown)
		}
	}
	var r page.Reader
	if got := len(r.Read([]byte(`<iframe srcdoc="` + strings.Repeat("a ", 100_000) + `"></iframe>`)).Text); got > 64<<10+len("\n\n\n\n") {
		t.Errorf("%d bytes of generated text", got)
	}
}

// Lines end where a reader sees them end, whatever a tag's name is.
func TestLinesOfPages(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a block within a line", "vi<div style='display:inline'></div>sa <div style='display:inline-block'>a</div>b", "visa ab"},
		{"blocks by style", "one<span style='display:block'>two</span>three", "one two three"},
		{"a block that is not there", "vi<div style='display:none'>x<p>y</p></div>sa<br style='display:none'>!", "visa!"},
		{"a block that is invisible", "a<div style='visibility:hidden'>x</div>b", "a b"},
		{"an end without a beginning", "vi</div>sa</p>b", "visa b"},
		{"CSS in comments of an attribute", "vi<b style='/*a*/display/**/:none'>x</b>sa", "visa"},
		{"hidden by other means", "a<b style='clip:rect(0,0,0,0)'>b</b><b style='transform:scale(0)'>c</b><b style='opacity:2%'>d</b><b style='clip-path:inset(100%)'>e</b><b style='filter:alpha(opacity=0)'>f</b>", "a"},
		{"a drawing that closes itself", "a<svg/>b<p>c</p><iframe/>d", "a b c"},
		{"a drawing that does not close itself", "a<svg a=/>b</svg>c<svg a='x'/>d", "ac d"},
		{"a drawing with HTML inside", "<svg><text>a</text><p>b</p></svg><math><mi>c</mi></math>d", "d"},
		{"a mark of Outlook shows nothing", "a<b style='display:none;mso-hide:none'>b</b>", "a"},
	} {
		if got := shows(tt.in); got != tt.want {
			t.Errorf("%s: %q shows %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}
