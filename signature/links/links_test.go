package links

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/suffix"
	"github.com/spambloom/spambloom/signature/visible"
)

// domainsOf returns the domains that a message links to, by links that readers see or not.
func domainsOf(raw string) []string {
	domains, _ := ownDomainsOf(raw)
	return domains
}

// ownDomainsOf also returns how many of the domains, the first ones, are of links that
// readers see.
func ownDomainsOf(raw string) (domains []string, own int) {
	m := mail.Parse([]byte(raw))
	var texts visible.Texts
	texts.Begin(m.Header, 0, nil)
	mail.Walk(m, nil, func(l mail.Leaf) {
		if texts.Note(l); visible.IsText(l) {
			texts.Add(l, l.Content(nil))
		}
	})
	var f Finder
	domains, carried := f.Domains(&texts, m.Header, nil)
	return domains, len(domains) - carried
}

// linkedFrom returns the domains that a message of one part links to.
func linkedFrom(mediaType, body string) string {
	return strings.Join(domainsOf("Content-Type: "+mediaType+"\n\n"+body), " ")
}

// viewOf returns the view of a text part.
func viewOf(text string, isHTML bool) *visible.View {
	l := mail.Leaf{}
	l.MediaType, l.Charset = "text/plain", "utf-8"
	if isHTML {
		l.MediaType = "text/html"
	}
	var texts visible.Texts
	texts.Begin(nil, 0, nil)
	texts.Add(l, []byte(text))
	return texts.Show(&texts.Parts[0])
}

func TestLinksInText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"schemes", "see http://a.example.com/x, https://example.net. ftp://ftp.example.org", "example.com example.net example.org"},
		{"www", "go to www.example.com! or WWW.EXAMPLE.NET", "example.com example.net"},
		{"host with path", "visit shop.example.com/buy now, read src/main.go/x or and/or 1.2/3", "example.com"},
		{"a host alone is a word", "example.com is what Node.js and e.g. readme.txt look like", ""},
		{"in brackets", "<http://example.com> (see http://example.net/) \"http://example.org\"", "example.com example.net example.org"},
		{"nobody shall follow", "hxxp://example.com/ hxxps://example.net", ""},
		{"addresses", "write to joe@example.com or mailto:ann@example.net", ""},
		{"user before the host", "http://www.paypal.com@example.com/ http://user:pw@example.net:80/", "example.com example.net"},
		{"port and dot", "http://example.com.:8080/x http://example.net.", "example.com example.net"},
		{"backslashes", `http:\\example.com\x http:/\example.net`, "example.com example.net"},
		{"percent", "http://%65xample.com/ http://e%78ample%2Enet/", "example.com example.net"},
		{"upper case", "HTTP://WWW.Example.COM/", "example.com"},
		{"international", "http://bücher.example/ http://XN--bcher-kva.example/ http://example。com/", "xn--bcher-kva.example example.com"},
		{"below a private suffix", "http://me.blogspot.com/ http://a.you.github.io/ http://blogspot.com/", "me.blogspot.com you.github.io"},
		{"country", "http://a.b.example.co.uk/ http://co.uk/", "example.co.uk"},
		{"IPv4", "http://203.0.113.7/a", "[203.0.113.7]"},
		{"IPv4 in other notations", "http://3405803783/ http://0xCB007107 http://0313.0.0161.7/ http://0xcb.0x0.0x7107/ http://203.0.28935", "[203.0.113.7]"},
		{"private addresses", "http://10.1.2.3/ http://127.1/ http://localhost/ http://192.168.0.1 http://[::1]/", ""},
		{"IPv6", "http://[2001:db8::1]:80/ http://[2001:DB8:0::1]/ http://[::ffff:203.0.113.7]/", "[2001:db8::1] [203.0.113.7]"},
		{"no address", "http://1.2.3.4.5/ http://256.1.1.1/ http://0x/ http://09.1.1.1/", ""},
		{"redirectors", "http://www.google.com/url?q=http://example.com/&sa=D http://t.example.net/c?u=https%3A%2F%2Fexample.org%2Fx", "google.com example.com example.net example.org"},
		{"escaped twice", "http://example.net/?u=http%253A%252F%252Fexample.com", "example.net example.com"},
		{"target without a scheme", "http://example.net/r?to=www.example.com", "example.net example.com"},
		{"target in the path", "http://rd.example.net/*http://example.com/", "example.net example.com"},
		{"each once", "http://a.example.com http://b.example.com http://example.com", "example.com"},
		{"too long", "http://" + strings.Repeat("a", 64) + ".com/ http://" + strings.Repeat("a.", 130) + "com/", ""},
		{"underscore", "http://my_shop.example.com/", "example.com"},
	} {
		if got := linkedFrom("text/plain; charset=utf-8", c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLinksInHTML(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"anchor", `<a href="http://example.com/">x</a>`, "example.com"},
		{"quotes", `<A HREF='http://example.com/'>x</A><a href=http://example.net/y>y</a><a href = "http://example.org">`, "example.com example.net example.org"},
		{"without a scheme", `<a href="//example.com/x">x</a> <a href="www.example.net">y</a> <a href="page.html">`, "example.com example.net"},
		{"slashes as browsers read them", `<a href="http:example.com">x</a><a href="http:\\\\example.net">`, "example.com example.net"},
		{"form", `<form action="http://example.com/"><button formaction="http://example.net">`, "example.com example.net"},
		{"refresh", `<meta http-equiv="refresh" content="0; url=http://example.com/">`, "example.com"},
		{"base", `<base href="http://example.com/"><a href="x">`, "example.com"},
		{"pictures", `<img src="http://example.com/a.gif"><td background="http://example.net/b.gif">`, ""},
		{"styles", `<style>a{background:url(http://example.com/x)}</style><p style="background:url('http://example.net/')">`, ""},
		{"style sheets, fonts and prefetch", `<link rel=stylesheet href="http://example.com/css?family=Sans"><link rel=dns-prefetch href="//example.net">`, ""},
		{"entities", `<a href="http&#58;//ex&#97;mple.com&#x2f;">x</a> http&colon;//example.net/`, "example.com example.net"},
		{"line ends inside", "<a href=\" ht\ntp://exam\tple.com/\">x</a>", "example.com"},
		{"text over tags", `http://exa<b>mple</b>.com/ <p>http://example.net</p>http://example.org`, "example.com example.net example.org"},
		{"script", `<script>location.href='http://example.com/'</script><a href="javascript:go('http://example.net')">`, "example.net"},
		{"event", `<a onclick="location='http://example.com/'">`, ""},
		{"comment", `<!--[if mso]><a href="http://example.com">x</a><![endif]-->`, ""},
		{"no mail", `<a href="mailto:joe@example.com">joe@example.net</a><img src="cid:a@example.org">`, ""},
		{"hidden", `<div style="display:none"><a href="http://example.com">x</a></div>`, "example.com"},
		{"doctype", `<!DOCTYPE html PUBLIC "x" "http://example.com/a.dtd"><?xml version="http://example.com"?>`, ""},
		{"broken", `<a href="http://example.com/><img src=x> <a title="a>b" href=http://example.net>`, "example.com example.net"},
		{"slash", `<a/href="http://example.com"/>`, "example.com"},
		{"a lone sign", `1 < 2 http://example.com/ <`, "example.com"},
		{"image map", `<map><area href="http://203.0.113.7/x"></map>`, "[203.0.113.7]"},
	} {
		if got := linkedFrom("text/html; charset=utf-8", c.page); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Links that readers do not see come after those that they see, and are carried.
func TestLinksThatReadersSee(t *testing.T) {
	for _, c := range []struct{ name, page, own string }{
		{"a link", `<a href="http://a.example">x</a>`, "a.example"},
		{"a picture that is a link", `<a href="http://a.example"><img src="http://b.example/x.png"></a>`, "a.example"},
		{"a block that is a link", `<a href="http://a.example"><table><tr><td>x</table></a>`, "a.example"},
		{"an open link at the end", `<a href="http://a.example">x`, "a.example"},
		{"a visible word in an invisible link", `<a style="visibility:hidden" href="http://a.example"><b style="visibility:visible">x</b></a>`, "a.example"},
		{"a form with a button", `<form action="http://a.example"><button formaction="http://b.example">x</button></form>`, "a.example b.example"},
		{"an image map", `<map><area href="http://a.example"></map>`, "a.example"},
		{"text", `<p>http://a.example/`, "a.example"},
		{"an empty link", `<a href="http://a.example"></a>x`, ""},
		{"a link around another one", `<a href="http://a.example"><a href="http://b.example">x</a></a>`, "b.example"},
		{"a link before another one", `<a href="http://a.example">x<a href="http://b.example">y</a>`, "a.example b.example"},
		{"hidden by a late style sheet", `<a class="c" href="http://a.example">x</a><style>.c{display:none}</style>`, ""},
		{"a hidden area", `<area hidden href="http://a.example">`, ""},
		{"a hidden picture in a link", `<a href="http://a.example"><img style="display:none" src="x.png"></a>`, ""},
		{"text over hidden tags", `http://a<i hidden>b</i>.example/`, "a.example"},
	} {
		domains, own := ownDomainsOf("Content-Type: text/html\n\n" + c.page)
		if got := strings.Join(domains[:own], " "); got != c.own {
			t.Errorf("%s: readers see %q of %q, want %q", c.name, got, domains, c.own)
		}
	}
}

func TestLinksOfListFooters(t *testing.T) {
	const own = "see http://example.com/\n"
	for _, c := range []struct{ name, text, want string }{
		{"Mailman", own + "_______________________________________________\nX mailing list\nhttp://lists.example.net/mailman/listinfo/x\n", "example.com"},
		{"sponsor above", own + "-------------------------\nThis sf.net email is sponsored by: Y\nhttp://example.org/y\n______________\nX mailing list\n", "example.com"},
		{"signature", own + "-- \nX Users' Group\nhttp://example.net/mailman/listinfo/x for unsubscription\n", "example.com"},
		{"one line", own + "\nhttp://example.net/mailman/listinfo/x\n", "example.com"},
		{"a newsletter's", own + "--------------------\nTo unsubscribe: http://example.net/\n", "example.com example.net"},
		{"not at the end", "____________\nX mailing list\n" + strings.Repeat("word ", 500) + own, "example.com"},
		{"behind a page", "<a href=http://example.com/>x</a></html>\n____________\nX mailing list http://example.net/\n", "example.com"},
	} {
		mediaType := "text/plain"
		if strings.HasPrefix(c.text, "<") {
			mediaType = "text/html"
		}
		if got := linkedFrom(mediaType, c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLinksOfParts(t *testing.T) {
	parts := "--b\nContent-Type: %s\n\nhttp://example.com/\n\n--b\nContent-Type: text/html\n\n<a href=http://example.net>x</a>\n\n--b--\n"
	for _, c := range []struct{ head, want string }{
		{"Content-Type: multipart/alternative; boundary=b\n\n" + fmt.Sprintf(parts, "text/plain"), "example.net example.com"},
		{"Content-Type: multipart/mixed; boundary=b\n\n" + fmt.Sprintf(parts, "text/plain; charset=utf-16le"), "example.com example.net"},
		{"Content-Type: multipart/report; boundary=b\n\n" + fmt.Sprintf(parts, "text/plain"), "example.com example.net"},
		{"Content-Type: multipart/report; boundary=b\n\n" + fmt.Sprintf(parts, "message/delivery-status"), ""},
		{"Content-Transfer-Encoding: quoted-printable\n\nhttp://exa=\nmple=2Ecom/", "example.com"},
		{"Content-Transfer-Encoding: base64\n\naHR0cDovL2V4YW1wbGUuY29tLw==", "example.com"},
		{"To: Ann <ann@mail.example.org>,\n joe@example.net\nCC: x@example.info\n\nhttp://example.com/?a=http://www.example.org/ http://example.net http://example.info", "example.com"},
		{"Subject: http://example.org\nList-Unsubscribe: <http://example.net>\n\nno link", ""},
	} {
		if got := strings.Join(domainsOf(c.head), " "); got != c.want {
			t.Errorf("%.60q: got %q, want %q", c.head, got, c.want)
		}
	}
}

func TestDecoysPushNothingOut(t *testing.T) {
	decoys := func(form string, from, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, from+i)
		}
		return b.String()
	}
	const real = `<a href="http://spam.example">buy</a>`
	pictures, anchors := `<img src="http://d%d.example/">`, `<a href="http://d%d.example/"></a>`
	known := ""
	for _, d := range strings.Fields(wellKnownList[strings.Index(wellKnownList, "google.com"):])[:200] {
		known += `<a href="http://` + d + `/">x</a>`
	}
	for name, page := range map[string]string{
		"pictures before":        decoys(pictures, 0, 300) + real,
		"text before":            decoys("http://d%d.example/ ", 0, 300) + real,
		"links before":           decoys(anchors, 0, 300) + real,
		"links behind":           real + decoys(anchors, 0, 300),
		"comment before":         "<!--" + decoys(anchors, 0, 300) + "-->" + real,
		"well-known ones around": known + real + known,
	} {
		got := domainsOf("Content-Type: text/html\n\n" + page)
		if len(got) > 16 || !slices.Contains(got, "spam.example") {
			t.Errorf("%s: %d domains: %v", name, len(got), got)
		}
	}
}

func TestWellKnownListIsWellFormed(t *testing.T) {
	seen := make(map[string]bool)
	for line := range strings.Lines(wellKnownList) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, d := range strings.Fields(line) {
			if got := suffix.Registrable(d); got != d {
				t.Errorf("%s: its registrable domain is %q", d, got)
			}
			if seen[d] {
				t.Errorf("%s stands there twice", d)
			}
			seen[d] = true
		}
	}
	if !WellKnown("google.com") || WellKnown("example.museum") {
		t.Error("google.com is not known, or example.museum is")
	}
}

func FuzzLinks(f *testing.F) {
	for _, s := range []string{
		"http://example.com/", `<a href="http://ex&#97;mple.com">`, "http://[::1", "http:\\\\%", "<!--<a href=//x.y>",
		`<a href="http:/`, "www.", "http://0x7f.1/", "http://a/?u=http%253A%252F%252Fb.c", "<style>url(",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, isHTML bool) {
		var l Finder
		view := viewOf(text, isHTML)
		l.scan(view, false)
		l.scan(view, true)
		domains := l.chosen()
		if len(domains) > maxDomains || len(l.found) > maxLinked || l.looked > maxLinks {
			t.Fatalf("%d domains of %d, %d looked at", len(domains), len(l.found), l.looked)
		}
		for i, d := range domains {
			if slices.Contains(domains[:i], d) {
				t.Errorf("%q is named twice", d)
			}
			if again := linkDomain([]byte(d)); again != d {
				t.Errorf("the domain of %q is %q", d, again)
			}
		}
		// A page's own entities change nothing: plain text has the same links when it is
		// escaped.
		if !isHTML {
			var page Finder
			page.scan(viewOf(html.EscapeString(text), true), false)
			if got := page.chosen(); !strings.ContainsAny(text, "<>&'\"\x00\r") && !slices.Equal(got, domains) {
				t.Errorf("as a page: %q, as text %q", got, domains)
			}
		}
	})
}
