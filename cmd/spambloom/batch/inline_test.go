package batch

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// The texts are headers that mail programs write above a message forwarded inline, in several languages,
// and what users write above an attached message.
func TestIsInline(t *testing.T) {
	const attached = "--b\nContent-Type: message/rfc822\n\nFrom: news@books.example\nDate: Fri, 27 Nov 2026 13:05:06 +0100\n\nWrite to us@books.example by 2026-12-01 13:00.\n--b--\n"
	for name, c := range map[string]struct {
		mediaType, text string
		want            bool
	}{
		"empty":                    {"text/plain", "", false},
		"a signature":              {"text/plain", "this is spam\n-- \nAnna Berg\nanna@example.org, info@example.org\nTel. 030 1234-56, Mo-Fr 9:00-17:00\n", false},
		"a logo in text":           {"text/plain", "[cid:image001.png@01DC5F1A.ABCDEFAB]\nAnna Berg\n", false},
		"a page with a signature":  {"text/html", `<html xmlns:o="urn:x@y.example"><style>/* x@y.example 2026 12:30 */</style><!-- 2026 12:30 --><p>Anna Berg<br><a href="mailto:anna@mail.example.org">anna@mail.example.org</a><img src="cid:a@b.cd"></p>`, false},
		"names in networks":        {"text/plain", "Follow us: @library, https://video.example/@library\n", false},
		"a telephone and hours":    {"text/plain", "Tel. 030 12 34 56, Mo-Fr 9:00-17:00\n", false},
		"a date":                   {"text/plain", "Received 27.11.2026, and again 05.11.2026.\n", false},
		"Gmail":                    {"text/plain", "---------- Forwarded message ---------\nFrom: Win <win@lottery.example>\nDate: Fri, Nov 27, 2026 at 1:05 PM\nSubject: You have won\nTo: <anna@example.org>\n", true},
		"Thunderbird, German":      {"text/plain", "-------- Weitergeleitete Nachricht --------\nBetreff: Gewinn\nDatum: Fri, 27 Nov 2026 13:05:06 +0100\nVon: Gewinn\n", true},
		"Outlook":                  {"text/html", "<div><b>From:</b> Win &lt;win@lottery.example&gt;<br>\n<b>Sent:</b> Friday, 27 November\n2026 13:05<br><b>To:</b> Anna</div>", true},
		"a sender without address": {"text/html", "<div><b>Von:</b> Gewinn<br><b>Gesendet:</b> Freitag, 27. November\n2026 13:05<br></div>", true},
		"the receiver's address":   {"text/plain", "From: anna@example.org\nSent: 27.11.2026 13.05\nTo: anna@example.org\n", true},
		"French":                   {"text/plain", "De : Gain\nEnvoyé : vendredi 27 novembre 2026 13 h 05\n", true},
		"Japanese":                 {"text/plain", "送信日時: 2026年11月27日 13:05\n", true},
		// The sender of a spam chooses these forms, and some programs copy them.
		"a year of two digits":        {"text/plain", "Date: Fri, 27 Nov 26 13:05 +0100\nFrom: Win\n", true},
		"Samsung, German":             {"text/html", "<div>Von: Gewinn </div><div>Datum: 27.11.26  13:05  (GMT+01:00) </div>", true},
		"a year of the past":          {"text/plain", "From: Win\nSent: Sunday, November 28, 1999 10:11 AM\n", true},
		"Roundcube, year of the past": {"text/plain", "-------- Original Message --------\nSubject: Win\nDate: 1999-11-28 10:11\nFrom: Win\n", true},
		"a year far ahead":            {"text/plain", "Date: Sun, 28 Nov 9999 10:11:12 +0000\nFrom: Win\n", true},
		"a year far ahead, American":  {"text/plain", "Date: Sun, Nov 28, 9999 at 10:11 AM\nFrom: Win\n", true},
		"a year far ahead, German":    {"text/plain", "Datum: 28.11.9999 10:11\nVon: Win\n", true},
		"a year far ahead, ISO":       {"text/plain", "Date: 9999-11-28 10:11\nFrom: Win\n", true},
		"a year far ahead, Japanese":  {"text/plain", "日付: 9999年11月28日 10:11\n", true},
		"a folded date":               {"text/plain", "Date: Sat, 28 Nov 26\n 10:11:12 +0000\nFrom: Win\n", true},
		"wide blanks":                 {"text/plain", "Date: Sat, 28\t Nov  26 10  :  11 +0000\nFrom: Win\n", true},
		"Apple Mail, Danish":          {"text/plain", "Fra: Win\nDato: 28. november 2026 kl. 10.11.12 CET\n", true},
		"Apple Mail, Finnish":         {"text/html", "<div><b>Päivämäärä: </b>28. marraskuuta 2026 klo 10.11.12 UTC+2<br></div>", true},
		"Apple Mail, Arabic":          {"text/plain", "التاريخ: ٢٨ نوفمبر ٢٠٢٦ في ١٠:١١:١٢ ص\n", true},
		"Persian":                     {"text/plain", "تاریخ: ۷ آذر ۱۴۰۵، ۱۰:۱۱:۱۲\n", true},
		"Persian, ASCII":              {"text/plain", "تاریخ: 1405/09/07 10:11\n", true},
		"Marathi":                     {"text/plain", "दिनांक: २८ नोव्हेंबर, २०२६ १०:११:१२ AM\n", true},
		"Japanese, long":              {"text/plain", "日付: 2026年11月28日 10時11分\n", true},
		"Japanese, reign":             {"text/plain", "日付: 令和8年11月28日 10:11\n", true},
		"Korean, long":                {"text/plain", "날짜: 2026년 11월 28일 오전 10시 11분\n", true},
		"Czech":                       {"text/plain", "Datum: 28. 11. 26 10:11:12\nOd: Win\n", true},
		"Hungarian, a year far ahead": {"text/plain", "Dátum: 9999. 11. 28. 10:11\n", true},
		"dates with two digits":       {"text/plain", "Received 05.11.26 and 06.11.26, ticket 4711.\n", false},
		"a house and hours":           {"text/plain", "Berg Street 1200, Mo-Fr 9:00-17:00\n", false},
		"a version and a date":        {"text/plain", "Since 27.11.2026, with version 10.11.120.\n", false},
		"an address with a sign":      {"text/plain", "From: Win <win!@lottery.example>\n", true},
		"a quoted address":            {"text/plain", "From: \"w w\"@lottery.example\n", true},
		"an IP address":               {"text/plain", "From: Win <win@[192.0.2.7]>\n", true},
		"an international domain":     {"text/plain", "From: Win <win@bücher.example>\n", true},
		"a domain without a dot":      {"text/plain", "From: Win <win@lottery>\n", true},
		// Programs that write signs as references, such as the sanitiser of OWASP and Microsoft's AntiXSS.
		"an address with a reference":     {"text/html", "<b>From:</b> Win &lt;win&#64;lottery.example&gt;<br>Sent: today", true},
		"a time with a reference":         {"text/html", "<b>From:</b> Win<br>Sent: Mon, 30 Nov 2026 07&#58;00", true},
		"names and hexadecimal":           {"text/html", "From: Win<br>Sent: Mon, &#x33;0&nbsp;Nov&#10;2&#48;26 07&colon;00", true},
		"named signs of an address":       {"text/html", "From: Win &lt;win&commat;lottery&period;example&gt;", true},
		"her own address with references": {"text/html", "<p>Anna Berg<br>anna&#64;&#69;xample&#46;org", false},
		"no reference in text":            {"text/plain", "win&#64;lottery.example, 27 Nov 2026 07&#58;00", false},
		"mutt":                            {"text/plain", "----- Forwarded message from Win <win@lottery.example> -----\n\nHello\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := "From: Anna <anna@example.org>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: " +
				c.mediaType + "; charset=utf-8\n\n" + c.text + "\n" + attached
			for _, raw := range []string{m, strings.ReplaceAll(m, "\n", "\r\n")} {
				if got := isInline(signature.Parse([]byte(raw))); got != c.want {
					t.Errorf("inline %v, want %v:\n%s", got, c.want, c.text)
				}
			}
		})
	}
}

// TestManyOwnAddresses is the attack "own addresses": the sender of a mail to a report address writes
// thousands of addresses into its From and its text. Only one of From counts, so that they are not all
// compared with each other.
func TestManyOwnAddresses(t *testing.T) {
	const from, text = "From: \"b@books.example\" <b@books.example>,\n anna@example.org\n\n", "b@books.example\n"
	if !isInline(signature.Parse([]byte(from+text))) || isInline(signature.Parse([]byte(from+"info@example.org\n"))) {
		t.Error("another address of From than the last one counts")
	}
}

// TestLongOwnAddress is the same attack with one address of From, as long as a mail server allows, of which
// the text has thousands of parents: it is not copied for each of them.
func TestLongOwnAddress(t *testing.T) {
	own := strings.Repeat("a.", 50_000) + "b.example"
	for domain, want := range map[string]bool{"b.example": true, ".example": false, "c." + own: true, "c" + own: false} {
		got := false
		if n := testing.AllocsPerRun(10, func() { got = isOwn(domain, own) }); n != 0 || got != want {
			t.Errorf("%.20q: %v after %v allocations, want %v and none", domain, got, n, want)
		}
	}
}
