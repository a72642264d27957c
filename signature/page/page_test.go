package page_test

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text", "a &lt;b&gt; &eacute;&#233;", "a <b> éé"},
		{"inline elements part no words", "V<b>i</b><!-- x -->a<font size=1>gr</font>a", "Viagra"},
		{"blocks part words", "a<p>b<br>c<div>d</div>e<table><tr><td>f<td>g</table>h", "a b c d e f g h"},
		{"elements that browsers show inline part no words", "a<ruby>b<rb>c<rt>d</ruby>e<picture>f</picture><data>g</data><output>h</output><map>i</map><slot>j</slot><blink>k</blink><noscript>l</noscript>m", "abcdefghijklm"},
		{"elements that show nothing part no words", "a<meta>b<link>c<base>d<track>e<source>f<param>g<embed>h<area>i<basefont>j<keygen>k<image>l<spacer>m<bgsound>n<color>o", "abcdefghijklmno"},
		{"elements that browsers ignore part no words", "<style>body,td{display:block}</style>a<body>b<html>c<head>d</head>e<frameset>f<frame>g</html>h<td>i<tr>j<tbody>k<caption>l<col>m<th>n<thead>o", "abcdefghijklmno"},
		{"parts of a table part words", "<table><caption>a</caption><tr><td>b<div>c<td>d<table><td>e</table>f</table>g<td>h", "a b c d e f gh"},
		{"head", "<html><head><title>t</title><meta name=x><style>s</style><body>a", "a"},
		{"head without end", "<head><title>t</title><p>a", "a"},
		{"script", "a<script>if (x<y) document.write('<p>no')</script>b", "ab"},
		{"display that is inline", "a<div style='display:initial'>b</div><div style='display:UNSET'>c</div><p style='display:ruby'>d</p><div style='display:-webkit-inline-box'>e</div>f", "abcdef"},
		{"display none", "a<div style='Display : NONE'>b<p>c</p></div>d", "ad"},
		{"display overridden", "a<div style='display:none;display:block'>b</div>c", "ac"},
		{"display inside none", "a<div style='display:none'><p style='display:block'>b</div>c", "ac"},
		{"visibility", "a<span style='visibility:hidden'>b<i style='visibility:visible'>c</i></span>d", "acd"},
		{"hidden attribute", "a<span hidden>b</span>c", "ac"},
		{"font size zero", "a<font style='color:red; font-size: 0.0PX !important'>b</font>c", "ac"},
		{"font size restored", "<td style='font-size:0'>a<div style='font-size:13px'>b</div>c</td>d", "b d"},
		{"share of zero", "<td style='font-size:0'><div style='font-size:2em'>b</div></td>d", "d"},
		{"hidden paragraph without end", "<p style='display:none'>a<p>b", "b"},
		{"hidden item without end", "<ul><li hidden>a<li>b</ul>c", "b c"},
		{"hidden cell without end", "<table><tr><td hidden>a<td>b<tr><td>c</table>", "b c"},
		{"hidden row without end", "<table><tr hidden><td>a<td>b<tr><td>c</table>", "c"},
		{"hidden inside a closed parent", "<div><span hidden>a</div>b", "b"},
		{"stray end tag", "<div hidden>a</b></p>b</div>c", "c"},
		{"void elements stay closed", "<img hidden><br style='display:none'><input type=hidden>a", "a"},
		{"conditional comment", "<!--[if mso]>a<![endif]--><![if !mso]>b<![endif]>", "b"},
		{"unclosed comment", "a<!-- b", "a"},
		{"unclosed tag", "a<b title='", "a"},
		{"deep", strings.Repeat("<div>", 1000) + "a" + strings.Repeat("</div>", 1000) + "b", ""},
	} {
		if got := shows(tt.in); got != tt.want {
			t.Errorf("%s: %q shows %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}
