package signature_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/spambloom/spambloom/signature"
)

// Each reading of a message has a share of the budget, and none takes away what another one read. So text
// behind a known spam does not keep it from being found, whatever it costs and however often it is read.
func TestTextBeforeExpensiveText(t *testing.T) {
	const head = "Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
	var spam strings.Builder
	for i := range 150 {
		fmt.Fprintf(&spam, "w%cord%c%c ", 'a'+i%26, 'a'+i/26, 'a'+i*7%26)
	}
	spam.WriteString("\nhttp://shop.example/x\n")
	known := entity("text/plain; charset=utf-8", spam.String())
	reported := signature.Compute(signature.Parse([]byte(head + known)))

	repeated := func(times int, kind, text string) string { return strings.Repeat(entity(kind, text), times) }
	var sheet strings.Builder
	for i := range 500 {
		fmt.Fprintf(&sheet, ".c1 p.c%d,", i)
	}
	costlyPage := "\u00fc\u00fc<style>" + sheet.String() + "p{color:red}</style>" + strings.Repeat("<p class='c1 c2 c3 c4'>x</p>", 1000)
	file := entity("application/octet-stream", "a file that is text")
	calendar := entity("text/calendar", "BEGIN:VCALENDAR\nSUMMARY:x")
	detected := func(size int) string { return repeated(7, "text/plain", strings.Repeat("$\x8d", size/2)) }
	notice := "--b\nContent-Type: multipart/report; boundary=r; report-type=delivery-status\n\n" +
		strings.ReplaceAll(entity("text/html; charset=utf-8", costlyPage), "--b", "--r") + "--r--\n"
	for _, tt := range []struct{ name, before, behind string }{
		{"nothing", "", ""},
		{"charsets to detect", "", detected(2048)},
		{"charsets to detect, and a file", "", detected(800) + file},
		{"a long text of one charset", "", entity("text/plain; charset=utf-8", strings.Repeat("0\x80", 12<<10)) + file + calendar},
		{"a long text that is composed", "", entity("text/html; charset=utf-8", strings.Repeat("\u1e9b\u0323", 6<<10)) + file + calendar},
		{"a page with many selectors", "", entity("text/html; charset=utf-8", costlyPage)},
		{"a page with many selectors, and a file", "", entity("text/html; charset=utf-8", costlyPage) + file},
		{"a notice with many selectors", "", notice},
		{"plain text behind an expensive page", "", "--b\nContent-Type: multipart/alternative; boundary=r\n\n" +
			strings.ReplaceAll(entity("text/html; charset=utf-8", costlyPage)+entity("text/plain", strings.Repeat("$\x8d ", 8<<10)), "--b", "--r") + "--r--\n"},
		{"nothing, but behind a notice", "--b\nContent-Type: multipart/report; boundary=r\n\n--r\nContent-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n" +
			"Content-Transfer-Encoding: 8bit\n\n" + strings.Repeat("\x86H\x86\xf7 ", 3000) +
			"\n--r\nContent-Type: message/delivery-status\n\nAction: failed\n--r--\n", ""},
	} {
		copied := signature.Compute(signature.Parse([]byte(head + tt.before + known + tt.behind + "--b--\n")))
		if found := matchesOf(reported, copied); !slices.Contains(found, "sketch") || tt.before == "" && !slices.Contains(copied.Domains, "shop.example") {
			t.Errorf("before %s: found by %q and links to %q, with the limits %q", tt.name, found, copied.Domains, copied.Limits.Names())
		}
	}
}

// entity returns a part of a message with the boundary b.
func entity(kind, text string) string { return "--b\nContent-Type: " + kind + "\n\n" + text + "\n" }

// Words in parts that most programs do not show leave room for those that readers see, however many they are.
func TestWordsBehindUnshownWords(t *testing.T) {
	known := entity("text/html; charset=utf-8", "<p>"+prose+"<a href='http://shop.example/x'>x</a></p>")
	reported := signature.Compute(signature.Parse([]byte("Content-Type: multipart/alternative; boundary=b\n\n" + known + "--b--\n")))
	for _, letters := range []int{1000, 20_000, 120_000} {
		for _, kind := range []string{"alternative", "related; start=\"<page>\""} {
			raw := "MIME-Version: 1.0\nContent-Type: multipart/" + kind + "; boundary=b\n\n" +
				entity("text/html; charset=windows-874", strings.Repeat("\xa1", letters)) +
				strings.Replace(known, "\n\n", "\nContent-ID: <page>\n\n", 1) + "--b--\n"
			copied := signature.Compute(signature.Parse([]byte(raw)))
			if found := matchesOf(reported, copied); !slices.Contains(found, "sketch") {
				t.Errorf("%s, behind %d letters: found by %q, with the limits %q", kind, letters, found, copied.Limits.Names())
			}
		}
	}
}

// Programs show the last branch of an alternative that they can, but some prefer a page. So of a page before a
// plain text, each is found without the other, and a report lists the page only where it is carried.
func TestPlainTextBehindPage(t *testing.T) {
	alternative := func(page, plain string) signature.Set {
		return signature.Compute(signature.Parse([]byte("MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n" +
			"--b\n" + page + "\n--b\n" + plain + "\n--b--\n")))
	}
	alone := func(entity string) signature.Set { return signature.Compute(signature.Parse([]byte(entity))) }
	page, text := "Content-Type: text/html\n\n<p>"+prose+"</p>", "Content-Type: text/plain\n\n"+prose
	junk := func(word string) string {
		var words strings.Builder
		for i := range 400 {
			fmt.Fprintf(&words, "%s%c%c ", word, 'a'+i%26, 'a'+i/26)
		}
		return "Content-Type: text/plain\n\n" + words.String()
	}
	for _, tt := range []struct {
		name            string
		reported, asked signature.Set
		want            bool
	}{
		{"the newsletter before a spam", alternative(letterPage, text), alone(letterPage), false},
		{"the spam behind a newsletter", alternative(letterPage, text), alone(text), true},
		{"a spam behind a newsletter, reported alone", alone(text), alternative(letterPage, text), true},
		{"a page before other words", alternative(page, junk("one")), alternative(page, junk("two")), true},
		{"a page before other words, reported alone", alone(page), alternative(page, junk("two")), true},
		{"a page before no words", alternative(page, "Content-Type: text/plain\n\n \n"), alone(page), true},
		{"a later part beside a page", alone(page), alternative(strings.Replace(junk("two"), "plain", "html", 1),
			"Content-Type: multipart/mixed; boundary=m\n\n--m\nContent-Type: text/plain\n\nSee below.\n--m\n"+page+"\n--m--"), true},
		{"a page behind its words", alternative(text, page), alone(page), true},
	} {
		if found := matchesOf(tt.reported, tt.asked); slices.Contains(found, "sketch") != tt.want {
			t.Errorf("%s: found by %q", tt.name, found)
		}
	}
	few := "Content-Type: text/html\n\nYour parcel waits. <a href='http://shop.example/x'>Follow its way</a>"
	for _, plain := range []string{".", "Please see the page."} {
		if found := matchesOf(alone(few), alternative(few, "Content-Type: text/plain\n\n"+plain)); !slices.Contains(found, "phrase") {
			t.Errorf("a page of few words before %q: found by %q", plain, found)
		}
	}
	if reported := alternative(letterPage, text).ToReport(); len(reported.Domains) > 0 {
		t.Errorf("a report of a spam behind a newsletter lists its links %q", reported.Domains)
	}
}

// A returned text is read aside first, and then shown: in the charset that its bytes have, if it declares none.
func TestReturnedTextWithoutCharset(t *testing.T) {
	const text = "尊敬的客户，您的奖金正在我们的新网站等待领取。请今晚打开页面并输入礼品代码，以免过期。我们快速付款，不需要任何文件，" +
		"每位新玩家都可以获得二百次免费旋转以及首次存款的额外奖励。请抓紧时间，优惠只持续三天，名额已经不多。我们的客服全天在线。\n"
	raw, err := simplifiedchinese.GB18030.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	reported := signature.Compute(signature.Parse([]byte("Content-Type: text/plain; charset=utf-8\n\n" + text)))
	for _, kind := range []string{"mixed", "report; report-type=delivery-status"} {
		for _, charset := range []string{"", "; charset=iso-8859-1", "; charset=gb18030"} {
			s := signature.Compute(signature.Parse([]byte("Content-Type: multipart/" + kind + "; boundary=b\n\n--b\nContent-Type: message/rfc822\n\n" +
				"Subject: x\nContent-Type: text/plain" + charset + "\n\n" + raw + "\n--b--\n")))
			if found := matchesOf(reported, s); !slices.Contains(found, "sketch") {
				t.Errorf("%s, %q: found by %q", kind, charset, found)
			}
		}
	}
}
