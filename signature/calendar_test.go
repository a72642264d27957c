package signature_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/digest"
)

// invitation returns a message with a calendar object of that description, folded as programs do it.
func invitation(page bool, description string) signature.Set {
	return invitationBeside(page, "hello", description)
}

// invitationBeside is invitation beside another text.
func invitationBeside(page bool, beside, description string) signature.Set {
	var folded strings.Builder
	for i, r := range "DESCRIPTION;LANGUAGE=\"en:us\":" + description {
		if i > 0 && i%70 == 0 {
			folded.WriteString("\r\n ")
		}
		folded.WriteRune(r)
	}
	text := "Content-Type: text/plain\n\n" + beside + "\n"
	if page {
		text = "Content-Type: text/html\n\n<p>" + beside + "</p>\n"
	}
	return signature.Compute(signature.Parse([]byte("From: a@b.example\nContent-Type: multipart/alternative; boundary=b\n\n--b\n" + text +
		"--b\nContent-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:" +
		fmt.Sprint(len(description)) + "\r\n" + folded.String() + "\r\nSUMMARY:Hello\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n--b--\n")))
}

// decoy returns some words that are others in each copy.
func decoy(copy uint64) string {
	var b strings.Builder
	for i := range uint64(40) {
		for h := digest.Mix(copy*1000 + i); h > 1<<40; h /= 26 {
			b.WriteByte(byte('a' + h%26))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// Mail programs show what an invitation says, so spam in one is found again. Its report does not list
// a letter with the same text, and those of meetings are not listed with each other.
func TestSpamInInvitation(t *testing.T) {
	for _, page := range []bool{false, true} {
		spam := invitation(page, "Dear customer\\, number 1\\n"+loanOffer)
		if kinds := matchesOf(spam, invitation(page, "My friend number 22\\; "+loanOffer)); kinds == nil {
			t.Errorf("page %v: another copy is not found: %+v", page, spam)
		}
		if kinds := matchesOf(spam, signature.Compute(signature.Parse([]byte("From: a@b.example\n\n"+loanOffer)))); kinds != nil {
			t.Errorf("page %v: a letter is listed by %v", page, kinds)
		}
		for _, before := range []string{"", decoy(3) + " ", decoy(3) + "\\nX-ALT-DESC:<p>"} {
			if kinds := matchesOf(invitationBeside(page, decoy(1), before+loanOffer), invitationBeside(page, decoy(2), loanOffer)); kinds == nil {
				t.Errorf("page %v: another copy beside other words is not found", page)
			}
		}
		repeated := invitationBeside(page, loanOffer, loanOffer+"\\n____\\nJoin on your computer or mobile app. Click here to join.\r\nX-ALT-DESC;FMTTYPE=text/html:<html><p class=x>"+loanOffer+"</p></html>")
		if alone := signature.Compute(signature.Parse([]byte("From: a@b.example\n\n" + loanOffer))); alone.Counting[0] != repeated.Counting[0] {
			t.Errorf("page %v: an invitation that repeats its text has another one", page)
		}
		abroad := func(topic string) signature.Set {
			return invitation(page, topic+"\\n____________\\nMicrosoft Teams-möte\\nAnslut på din dator\\, mobilapp eller rumsenhet\\nKlicka här för att ansluta till mötet\\n"+
				"Ladda ned Teams | Anslut på webben\\nLäs mer | Mötesalternativ")
		}
		if kinds := matchesOf(abroad("Skolans budget"), abroad("Planer för den nya bron")); kinds != nil {
			t.Errorf("page %v: another meeting in Swedish is listed by %v", page, kinds)
		}
		meeting := func(topic string) signature.Set {
			return invitation(page, topic+"\\n____________\\nMicrosoft Teams meeting\\nJoin on your computer, mobile app or room device. "+
				"Click here to join the meeting. Meeting options and help are found in the calendar of the organiser as usual.")
		}
		if kinds := matchesOf(meeting("Budget of the school"), meeting("Plans for the new bridge")); kinds != nil {
			t.Errorf("page %v: another meeting is listed by %v", page, kinds)
		}
	}
}

// How to join a meeting is the same in many calendar objects, which people attach to letters of their own.
func TestMeetingsBesideLetters(t *testing.T) {
	numbers := strings.Repeat("\\n+1 301 715 8592 US (Washington DC)\\n+49 69 3807 9883 Germany\\n+44 203 481 5237 United Kingdom\\n+1 646 931 3860 US", 10)
	join := "Someone is inviting you to a scheduled Zoom meeting.\\nJoin Zoom Meeting\\nOne tap mobile\\nDial by your location" + numbers +
		"\\nFind your local number in the settings of your account\\, or ask the host of the call for help."
	for _, method := range []string{"", "METHOD:PUBLISH\n"} {
		sign := func(letter string) signature.Set {
			return signature.Compute(signature.Parse([]byte("From: a@b.example\n" + multi("mixed", "\n"+letter, "Content-Type: application/ics\n\nBEGIN:VCALENDAR\n"+
				method+"BEGIN:VEVENT\nDESCRIPTION:"+join+"\nEND:VEVENT\nEND:VCALENDAR\n"))))
		}
		if kinds := matchesOf(sign(decoy(1)+decoy(2)+decoy(3)), sign(decoy(4)+decoy(5)+decoy(6))); slices.Contains(kinds, "sketch") {
			t.Errorf("%q: another letter is listed by %v", method, kinds)
		}
	}
}

// An attached calendar object with many other words in each copy hides no known text, and no copy from another.
func TestCalendarHidesNoText(t *testing.T) {
	const prefix = "From: a@b.example\n"
	copyOf := func(n uint64) signature.Set {
		var words strings.Builder
		for i := range uint64(48) {
			words.WriteString(decoy(1000*n + i))
		}
		return signature.Compute(signature.Parse([]byte(prefix + multi("mixed", "\n"+ampleProse,
			"Content-Type: application/ics\nContent-Disposition: attachment\n\nBEGIN:VCALENDAR\nBEGIN:VEVENT\nDESCRIPTION:"+words.String()+"\nEND:VEVENT\nEND:VCALENDAR\n"))))
	}
	for name, known := range map[string]signature.Set{
		"the text alone": signature.Compute(signature.Parse([]byte(prefix + "\n" + ampleProse))),
		"another copy":   copyOf(1),
	} {
		if kinds := matchesOf(known, copyOf(2)); !slices.Contains(kinds, "sketch") {
			t.Errorf("%s: a copy is found by %v", name, kinds)
		}
	}
}

// A few words stand above a small file that is the spam. Mail programs show such files below the
// words, and the file is too small to sign by itself.
func TestSpamInSmallFile(t *testing.T) {
	for name, head := range map[string]string{
		"text":    "Content-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\n",
		"page":    "Content-Type: text/html\nContent-Disposition: attachment; filename=a.html\n\n",
		"drawing": "Content-Type: image/svg+xml\nContent-Disposition: inline\n\n<svg><text>",
		"table":   "Content-Type: text/csv\n\n",
	} {
		sign := func(copy int) signature.Set {
			return signature.Compute(signature.Parse([]byte("From: a@b.example\n" + multi("mixed", fmt.Sprintf("\nSee our letter number %d to you, friend", copy),
				head+fmt.Sprintf("Dear customer number %d, ", copy)+loanOffer))))
		}
		if kinds := matchesOf(sign(1), sign(2)); kinds == nil {
			t.Errorf("%s: another copy is not found: %+v", name, sign(1))
		}
		if kinds := matchesOf(sign(1), signature.Compute(signature.Parse([]byte("From: a@b.example\n\n"+loanOffer)))); kinds != nil {
			t.Errorf("%s: a letter is listed by %v", name, kinds)
		}
	}
}

// Spam in one line of short phrases is no line of columns, whatever follows.
func TestSpamInLineOfTable(t *testing.T) {
	const offer = "buy cheap pills,best price ever today,no doctor needed,order from home,fast and discreet,only this one week," +
		"half the usual price,pay by credit card,thousands of happy customers,do not wait longer,write to us now"
	for name, line := range map[string]string{
		"alone":          offer,
		"above cells":    offer + "\n" + strings.Repeat("a,", 30),
		"above one cell": strings.ReplaceAll(offer, " ", ",") + "\nbye",
	} {
		sign := func(copy int) signature.Set {
			return signature.Compute(signature.Parse([]byte("From: a@b.example\n" + multi("mixed", "\nhello", fmt.Sprintf("Content-Type: text/csv\n\n%s\n%d\n", line, copy)))))
		}
		if kinds := matchesOf(sign(1), sign(2)); kinds == nil {
			t.Errorf("%s: another copy is not found", name)
		}
	}
}

// Many mails of few words have a part that is the same in all of them: a company's logo, the words of a
// format that only programs read, or what names the sender. They are not listed with each other.
func TestFormatsBelowFewWords(t *testing.T) {
	logo := "<path d=\"" + strings.Repeat("M10.5,20c3,4.25-7.125,0 L33,44.5 ", 20) + "\"/>"
	tag := func(name string, value int) string { return fmt.Sprintf("<cbc:%s>%d</cbc:%s>", name, value, name) }
	for name, make := range map[string]func(copy int) string{
		"logo": func(int) string {
			return "image/svg+xml\nContent-ID: <a>\nContent-Disposition: inline\n\n<svg xmlns=\"http://www.w3.org/2000/svg\">" + logo + "</svg>"
		},
		"signature": func(copy int) string {
			return "application/pgp-signature\n\n-----BEGIN PGP SIGNATURE-----\nVersion: GnuPG v2\nComment: Using GnuPG with Mozilla - https://www.enigmail.net/\n\n" +
				encoded(fmt.Sprint("of copy ", copy)) + "\n-----END PGP SIGNATURE-----"
		},
		"key": func(int) string {
			return "application/pgp-keys\n\n-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + encoded(loanOffer) + "\n-----END PGP PUBLIC KEY BLOCK-----"
		},
		"invoice": func(copy int) (s string) {
			s = "application/xml\n\n<?xml version=\"1.0\"?><Invoice xmlns=\"urn:oasis:names:specification:ubl:schema:xsd:Invoice-2\">"
			for _, name := range strings.Fields("CustomizationID ProfileID IssueDate DueDate InvoiceTypeCode DocumentCurrencyCode BuyerReference EndpointID StreetName CityName " +
				"PostalZone IdentificationCode CompanyID RegistrationName TaxAmount TaxableAmount Percent LineExtensionAmount TaxExclusiveAmount PayableAmount InvoicedQuantity") {
				s += tag(name, copy*len(name))
			}
			return s + "</Invoice>"
		},
		"table": func(copy int) string {
			return "text/csv\n\nFirst name;Last name;Customer number;Order date;Total amount;Currency;Payment status;Shipping method;Tracking number;Billing address;Postal code;Country\n" +
				fmt.Sprintf("Anna%d;Miller;%d;2026-11-0%d;30,%d0;EUR;open\n", copy, 3000+copy, copy+1, copy)
		},
		"record": func(copy int) string {
			return fmt.Sprintf("application/json\n\n{\"report-id\":\"%d\",\"organization-name\":\"Example\",\"date-range\":{\"start-datetime\":\"2026-11-%02d\",\"end-datetime\":\"2026-11-%02d\"},"+
				"\"policies\":[{\"policy-type\":\"sts\",\"policy-string\":\"version: STSv1 mode: enforce\",\"total-successful-session-count\":%d}]}", copy, copy, copy, copy)
		},
	} {
		sign := func(copy int) signature.Set {
			note := []string{"Hello Anna, see you on Monday at nine, best, Carl", "Thanks a lot, I will call you tomorrow. Regards, Bob"}[copy]
			return signature.Compute(signature.Parse([]byte("From: a@b.example\n" + multi("mixed", "\n"+note, "Content-Type: "+make(copy)+"\n"))))
		}
		if kinds := matchesOf(sign(0), sign(1)); len(kinds) > 0 && name != "key" || slices.Contains(kinds, "sketch") {
			t.Errorf("%s: another note is listed by %v", name, kinds)
		}
	}
}
