package signature_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/archive/archivetest"
	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/mail/mailtest"
	"github.com/spambloom/spambloom/signature/sketch"
	"github.com/spambloom/spambloom/signature/work"
)

// numbered repeats a format with the numbers below n.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// letters returns i in letters, as digits are no words.
func letters(i int) string {
	const alphabet = "bcdfghjklm"
	var b strings.Builder
	for _, digit := range fmt.Sprintf("%06d", i) {
		b.WriteByte(alphabet[digit-'0'])
		b.WriteByte("ae"[digit&1])
	}
	return b.String()
}

// lengthy returns a text of n different words.
func lengthy(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = letters(i)
	}
	return strings.Join(words, " ")
}

func wrappedIn(levels int, raw string) string {
	for range levels {
		raw = "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + encoded(raw)
	}
	return raw
}

// hugeImage returns the beginning of a PNG of 2,000 by 2,000 pixels.
func hugeImage() []byte {
	head := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	head = binary.BigEndian.AppendUint32(head, 2000)
	head = binary.BigEndian.AppendUint32(head, 2000)
	head = append(head, 8, 0, 0, 0, 0)
	head = binary.BigEndian.AppendUint32(head, crc32.ChecksumIEEE(head[12:]))
	return append(head, make([]byte, minPicture)...)
}

func zipFile(tb testing.TB, members ...archivetest.Member) string {
	return "Content-Type: application/zip\nContent-Transfer-Encoding: base64\n\n" + encode(archivetest.Zip(tb, members...)) + "\n"
}

// bites are messages that reach limits; each is made for the last limit that it names.
func bites(tb testing.TB) []struct{ name, raw, want string } {
	const html = "Content-Type: text/html\n\n"
	const mixed = "Content-Type: multipart/mixed; boundary=b\n\n"
	page := imagePart("", pageImage(tb))
	small := make([]archivetest.Member, maxMembers+1)
	for i := range small {
		small[i] = archivetest.File(fmt.Sprint(i), "x")
	}
	return []struct{ name, raw, want string }{
		{"nothing", "\n" + prose, ""},
		{"deep", mailtest.Nested(maxEntities), "parts reach"},
		{"wrapped as deep as may be", wrappedIn(maxWrapped, "\n"+prose), ""},
		{"wrapped deeper", wrappedIn(maxWrapped+1, "\n"+prose), "wrapped"},
		{"text far behind", mixed + "--b\n\n" + prose + "\n--b\nContent-Type: application/zip\n\n" + strings.Repeat("x", maxReach) + "\n--b\n\n" + prose, "reach"},
		{"1 MiB of text", "\n" + strings.Repeat(prose, maxSource/len(prose)+1), "decoded text words"},
		{"128 KiB of text", "\n" + strings.Repeat(prose, 128<<10/len(prose)), "words"},
		{"300 KiB of text", "\n" + strings.Repeat(prose, 300<<10/len(prose)), "text words"},
		{"many short words", "\n" + strings.Repeat("so we go on ", sketch.MaxWords/4+1), "words"},
		{"as many as may be", "\n" + strings.Repeat("so we go on ", sketch.MaxWords/4), ""},
		{"open elements", html + strings.Repeat("<div>", maxOpen+1), "open-elements"},
		{"a long style sheet", html + "<style>" + strings.Repeat(" ", maxSheet+1), "style-sheets"},
		{"many selectors", html + "<style>" + numbered(".a%d{color:red}", maxSelectors+1), "style-sheets"},
		{"many classes", html + "<style>.a{color:red}</style><p class='" + numbered("c%d ", maxClasses+1) + "'>x", "style-sheets"},
		{"as many classes as may be", html + "<style>.a{color:red}</style><p class='" + numbered("c%d ", maxClasses) + "'>x", ""},
		{"attachments", mixed + numbered("--b\nContent-Type: application/zip\n\n%d"+strings.Repeat("x", minAttachment)+"\n", maxAttachments+1), "attachments"},
		{"an archive that inflates", zipFile(tb, archivetest.File("a", strings.Repeat("x", freeInflated+1<<20))), "contents"},
		{"an archive whose members share their data", "Content-Type: application/zip\nContent-Transfer-Encoding: base64\n\n" + encode(hostileZip([]int{2, 100, 2})), "contents"},
		{"an archive of many members", zipFile(tb, small...), "contents"},
		{"a PDF of many streams", "Content-Type: application/pdf\n\n%PDF-1.4\n" + numbered("%d obj <<>>\nstream\nx\nendstream\n", maxMembers+1), "contents"},
		{"a broken archive", "Content-Type: application/zip\n\nPK\x03\x04" + strings.Repeat("x", minAttachment), ""},
		{"images", mixed + strings.Repeat(page, maxPictures), ""},
		{"more images", mixed + strings.Repeat(page, maxPictures+1), "images"},
		{"many images that show nothing", mixed + strings.Repeat("--b\nContent-Type: image/gif\n\nGIF8"+strings.Repeat("x", minPicture)+"\n", maxLooked+1), "images"},
		{"a huge image", mixed + imagePart("", hugeImage()), "images"},
		{"a broken image", mixed + imagePart("", []byte("\x89PNG"+strings.Repeat("x", minPicture))), ""},
		{"links", html + strings.Repeat("<a href=http://a.example></a>", maxLinks+1), "links"},
		{"domains that are told apart", html + numbered("<a href=http://a%d.example></a>", maxLinked+1), "links domains"},
		{"domains", html + numbered("<a href=http://a%d.example></a>", maxDomains+1), "domains"},
		{"links to long names", "Content-Type: text/plain; charset=utf-8\n\n" + prose + numbered("http://%d"+strings.Repeat("\u4e00\u4e8c", 120)+".example/ ", 200), "words work"},
		{"as many domains as may be", html + numbered("<a href=http://a%d.example></a>", maxDomains), ""},
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	if testenv.RanWithoutRace(t) {
		return
	}
	var bitten signature.Limits
	for _, tt := range bites(t) {
		got := signature.Compute(signature.Parse([]byte(tt.raw))).Limits
		if names := strings.Join(got.Names(), " "); names != tt.want {
			t.Errorf("%s: limits %q, want %q", tt.name, names, tt.want)
		}
		bitten |= got
	}
	if all := signature.Limits(1<<len(signature.LimitNames()) - 1); bitten != all&^signature.LimitGroups {
		t.Errorf("no message for %v", (all &^ (bitten | signature.LimitGroups)).Names())
	}
}

// A message whose text stands behind what is read can be reported and counted, by its body.
func TestTextBehindLimits(t *testing.T) {
	t.Parallel()
	const start = "Content-Type: multipart/mixed; boundary=b\n\n"
	text := "--b\nContent-Transfer-Encoding: base64\n\n" + encoded(prose) + "\n"
	const html = "Content-Type: text/html\n\n"
	page := html + "<!--" + strings.Repeat("x y ", 300_000) + "-->"
	const short = "<p>You won big money, claim it at <a href=http://spam.example>this page</a></p>"
	for name, raw := range map[string]string{
		"comment":   start + "--b\n" + page + "\n" + text + "--b--\n",
		"same page": page + prose,
		"wrapped":   wrappedIn(5, "\n"+prose[:150]),
		"parts":     start + strings.Repeat("--b\n\nw\n", 50_001) + text + "--b--\n",
		"reach":     start + strings.Repeat("x\n", maxReach) + "--b\n" + html + short + "\n--b--\n",
		"links":     html + strings.Repeat("<a href=http://google.com>.</a>\n", maxLinks+1) + short,
		"depth":     html + strings.Repeat("<div>", maxOpen-1) + "<div style=visibility:hidden><div style=visibility:visible>" + short,
		"styles":    html + "<style>" + strings.Repeat(" ", maxSheet) + "p{visibility:visible}</style><div style=visibility:hidden>" + short,
		"domains":   html + linksTo("google bing msn yahoo baidu live outlook gmail icloud mail microsoft apple youtube twitter linkedin adobe") + "<div hidden style=display:block>" + short,
		"pixels":    start + imagePart("", hugeImage()) + "--b--\n",
	} {
		set := signature.Compute(signature.Parse([]byte(raw)))
		if len(set.Signatures) == 0 || set.Signatures[0].Kind != digest.KindBody || len(set.Counting) == 0 {
			t.Errorf("%s: signatures %v, counted by %v, limits %v", name, set.Signatures, set.Counting, set.Limits.Names())
		}
	}
}

// between returns text with a phrase between every five words.
func between(text, phrase string) (out string) {
	for i, word := range strings.Fields(text) {
		if out += word + " "; i%5 == 4 {
			out += phrase + " "
		}
	}
	return out
}

// confidential and vertraulich are disclaimers that many firms have.
const (
	confidential = "This email and any files transmitted with it are confidential and intended solely for the use of the individual or entity to whom they are " +
		"addressed. If you have received this email in error please notify the system manager. This message contains confidential information and is " +
		"intended only for the individual named. If you are not the named addressee you should not disseminate, distribute or copy this e-mail. Please " +
		"notify the sender immediately by e-mail if you have received this e-mail by mistake and delete this e-mail from your system.\n"
	vertraulich = "Diese E-Mail enthält vertrauliche und/oder rechtlich geschützte Informationen. Wenn Sie nicht der richtige Adressat sind oder diese E-Mail " +
		"irrtümlich erhalten haben, informieren Sie bitte sofort den Absender und vernichten Sie diese Mail. Das unerlaubte Kopieren sowie die unbefugte " +
		"Weitergabe dieser Mail ist nicht gestattet.\n"
	japaneseNote = "このメールには機密情報が含まれている場合があります。誤って受信された場合は、削除のうえご連絡ください。このメールは送信専用です。\n"
	chineseNote  = "本邮件及其附件含有公司的保密信息,仅限于发送给上述收件人。如果您错收了本邮件,请您立即通知发件人并删除。此邮件由系统自动发出,请勿直接回复。\n"
)

// alternative returns a mail of a text and a page with the same words.
func alternative(text string) string {
	page := strings.ReplaceAll(text, "http://hey.com", "<a href=http://hey.com>http://hey.com</a>")
	return "Content-Type: multipart/alternative; boundary=b\n\n--b\n\n" + text + "\n--b\nContent-Type: text/html\n\n<div dir=ltr>" + page + "</div>\n--b--\n"
}

// report returns a multipart/report with words as a mail system's fields.
func report(from, words string) string {
	return from + "Content-Type: multipart/report; boundary=b\n\n--b\n\nok\n--b\nContent-Type: message/delivery-status\n\n" + words + "\n--b--\n"
}

// linksTo returns links to hosts in .com.
func linksTo(names string) (page string) {
	for _, name := range strings.Fields(names) {
		page += "<a href=http://" + name + ".com>.</a>\n"
	}
	return page
}

// A message can be reported, by its body, whatever its sender did to have its text or link taken for hidden or another's. A footer
// or disclaimer below a few words is the same in many mails, so it cannot.
func TestTextThatSeemsLess(t *testing.T) {
	t.Parallel()
	const html = "Content-Type: text/html\n\n"
	const short = "You won big money, claim it at <a href=http://spam.example>this page</a>"
	const picture = "<a href=http://spam.example><img src=http://spam.example/a.png></a>"
	for name, tt := range map[string]struct {
		raw  string
		want bool
	}{
		"undone":     {html + "<p style='opacity:0;opacity:1'>" + short, true},
		"link":       {html + strings.Replace(short, "<a ", "<a hidden style=display:inline ", 1), true},
		"picture":    {html + "<p style='opacity:0;opacity:1'>" + picture, true},
		"quoted":     {"\n> You won big money, claim it\n> at http://spam.example/a\n", true},
		"answer":     {"In-Reply-To: <a@b>\n" + html + "<blockquote type=cite>" + short, true},
		"later":      {"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n.\n--b\n" + html + short + "\n--b--\n", true},
		"bounce":     {"From: MAILER-DAEMON@a.example\nContent-Type: multipart/report; boundary=b\n\n--b\n\nYour mail could not be delivered. Release it at http://spam.example\n--b\nContent-Type: message/delivery-status\n\nAction: failed\n--b--\n", true},
		"answered":   {"Auto-Submitted: auto-replied\n" + html + "<p style='opacity:0;opacity:1'>" + prose, true},
		"signs":      {html + "<p>" + strings.Repeat("* + ", 4000) + "<p style='opacity:0;opacity:1'>" + prose, true},
		"joined":     {html + "<i style='display:inline-block;margin:3px'>" + strings.ReplaceAll(prose[:150], " ", "</i><i style='display:inline-block;margin:3px'>"), true},
		"camel case": {"\nYouWonBigMoneyInTheLotteryOfJuly PleaseClaimItBeforeTheEndOfTheYear OrItGoesToTheNextPersonOnTheList\n", true},
		"long link":  {"\nok\n[https://www.firm.example/" + strings.Repeat("verylongpath", 20) + "]\n", false},
		"long word":  {"\nok\nDatenschutzgrundverordnung Rechtsschutzversicherungen\n", false},
		"disclaimer": {"\nok\nThis email has been scanned for viruses. If you are not the intended recipient, please delete it.\n", false},
		"footer":     {"\nok\n-- \nAnna Miller, Head of Sales\nwww.firm.example/sales\n", false},
		"twice":      {alternative("Thank you very much for your mail, I will get back to you as soon as I can"), false},
		"program":    {alternative("ok\n\nDiese Nachricht wurde von meinem Android Mobiltelefon mit GMX Mail gesendet."), false},
		"list":       {alternative("Hi\n\nSent from HEY http://hey.com"), false},
		"only plain": {strings.Replace(alternative("Ok"), "Ok", prose[:150], 1), true},
		"below":      {"\n-- \nYou won big money, claim it at http://spam.example/a\n", false},
		"amid":       {"\n" + between(prose, "virus-free"), false},
		"firm":       {"\nok\nwww.firm.example\n" + vertraulich, false},
		"empty":      {"\n" + confidential, false},
		"japanese":   {"\n承知しました。明日伺います。\n" + japaneseNote, false},
		"chinese":    {"\nok\nwww.firm.example\n" + chineseNote, false},
		"headers":    {"Content-Type: text/rfc822-headers\n\n" + prose, true},
		"status":     {report("From: x@a.example\n", prose), true},
		"notice":     {report("From: MAILER-DAEMON@a.example\n", prose), false},
		"known host": {html + "<p hidden>You won big money at <a href=http://google.com>this page</a>", false},
	} {
		set := signature.Compute(signature.Parse([]byte(tt.raw)))
		if signs := len(set.Signatures) > 0 && set.Signatures[0].Kind == digest.KindBody; signs != tt.want || len(set.Signatures) > 1 {
			t.Errorf("%s: signatures %v", name, set.Signatures)
		}
	}
}

// A text of as many different words as sketches contain is asked for within the limit. A
// text that repeats itself, with other words between, is not.
func TestLimitOfGroups(t *testing.T) {
	keyed := func(h uint64) uint64 { return digest.Mix(h ^ 7) }
	for text, want := range map[string]bool{lengthy(sketch.MaxWords): false, strings.Repeat(lengthy(110)+" ", sketch.MaxWords/110): true} {
		set := signature.Compute(signature.Parse([]byte("\n" + text)))
		if len(set.Sketches) != 1 {
			t.Fatalf("%.20q: %d sketches", text, len(set.Sketches))
		}
		if n := len(set.Sketches[0].Asked(keyed)); (n == signature.MaxAsked) != want || n > signature.MaxAsked {
			t.Errorf("%.20q: %d groups asked", text, n)
		}
	}
}

// Each limit has a bit, a name and a line of its own in FORMAT.md.
func TestLimitNames(t *testing.T) {
	names := signature.LimitNames()
	if last := 1 << (len(names) - 1); work.LimitWork != signature.Limits(last) {
		t.Errorf("%d names for limits up to %b", len(names), work.LimitDomains)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("a name stands twice in %q", names)
	}
	format, err := os.ReadFile("FORMAT.md")
	testenv.Check(t, err)
	_, table, _ := strings.Cut(string(format), "\n## Limits\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var listed []string
	for line := range strings.Lines(table) {
		if _, after, found := strings.Cut(line, "| `"); found {
			name, _, _ := strings.Cut(after, "`")
			listed = append(listed, name)
		}
	}
	if !slices.Equal(listed, names) {
		t.Errorf("FORMAT.md has the limits %q, want %q", listed, names)
	}
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
