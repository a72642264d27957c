package signature_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

const (
	logo  = "Content-Type: image/png\nContent-Transfer-Encoding: base64\n"
	phish = "<p>Your parcel waits for you, pay the fee of customs here immediately or we will return it to its distant sender tomorrow at noon precisely"
	brand = "<p>Good day, the shipment that you ordered from our shop has left the warehouse and arrives on monday between nine and twelve"
)

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// multi returns a message or a part made of other parts.
func multi(kind string, parts ...string) string {
	boundary := "in-" + kind
	return "Content-Type: multipart/" + kind + "; boundary=" + boundary + "\n\n--" + boundary + "\n" +
		strings.Join(parts, "\n--"+boundary+"\n") + "\n--" + boundary + "--\n"
}

func image(fields string) string {
	return logo + fields + "\n" + encoded("\x89PNG"+strings.Repeat("the logo", minImage/8))
}

func file(content string) string {
	return "Content-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n" + encoded(strings.Repeat(content, minAttachment))
}

func calendar(who, day string) string {
	return "Content-Type: text/calendar; charset=utf-8; method=REQUEST\n\nBEGIN:VCALENDAR\nCALSCALE:GREGORIAN\nMETHOD:REQUEST\nBEGIN:VEVENT\n" +
		"DTSTART:" + day + "T140000Z\nORGANIZER;CN=" + who + ":mailto:" + who + "\nUID:" + day + "\n" +
		"ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE\n ;CN=" + who + ";X-NUM-GUESTS=0:mailto:" + who +
		"\nSEQUENCE:0\nSTATUS:CONFIRMED\nSUMMARY:Meeting\nTRANSP:OPAQUE\nBEGIN:VALARM\nACTION:DISPLAY\nDESCRIPTION:This is an event reminder\n" +
		"TRIGGER:-P0DT0H10M0S\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR\n"
}

func card(kind, who string) string {
	return "Content-Type: " + kind + "\n\nBEGIN:VCARD\nVERSION:4.0\nADR:harbour street number nine old town beside river market country earth\n" +
		"NOTE:our office opens every weekday morning from eight until noon only\nEMAIL:" + who + "\nEND:VCARD\n"
}

func bounce(recipient, id string) string {
	return multi("report", "Content-Type: text/plain\n\nThis is the mail system at your service.\n\nI'm sorry to have to inform you that your message could not\n"+
		"be delivered to one or more recipients. It's attached below.\nFor further assistance, please send mail to postmaster.\n"+
		"If you do so, please include this problem report. You can\ndelete your own text from the attached returned message.\n<"+recipient+"> unknown",
		"Content-Type: message/delivery-status\n\nX-Queue-ID: "+id+"\nFinal-Recipient: rfc822; "+recipient+"\nAction: failed\n")
}

func away(colleague, until string) string {
	return "Auto-Submitted: auto-replied (vacation)\n\nThank you for your message. I am out of the office until " + until +
		" with limited access to my email. For urgent matters please contact " + colleague +
		". I will answer your message as soon as possible after my return.\n"
}

func coverNote(number, content string) string {
	return multi("mixed", "Content-Type: text/plain\n\nGood morning,\n\nPlease find attached the invoice no. "+number+
		" for this month. Please let me know if you have any questions. Thank you and have a nice day.\n\nBest regards", file(content))
}

func returned(text string) string {
	return multi("report", "\nyour message could not be delivered", "Content-Type: message/delivery-status\n\nAction: failed",
		"Content-Type: message/rfc822\n\nSubject: minutes\n\n"+text)
}

// Two messages have no signature in common if only what programs and habit put there is
// the same.
func TestInnocentsShareNothing(t *testing.T) {
	header := "Content-Type: text/rfc822-headers\n\nReceived: from the outer gateway by our inner relay with transport security for some reader\n" +
		"Subject: about everything that happened during yesterday evening\n"
	for _, tt := range []struct {
		name, a, b string
		kinds      string // of a
	}{
		{"logo by Content-ID", multi("mixed", "Content-Type: text/html\n\n"+phish, image("Content-ID: <logo>\n")), multi("mixed", "Content-Type: text/html\n\n"+brand, image("Content-ID: <logo>\n")), "body text"},
		{"logo inline", multi("mixed", "Content-Type: text/html\n\n"+phish, image("Content-Disposition: inline\n")), multi("mixed", "Content-Type: text/html\n\n"+brand, image("Content-Disposition: inline\n")), "body text"},
		{"logo in related", multi("related", "Content-Type: text/html\n\n"+phish, image("")), multi("related", "Content-Type: text/html\n\n"+brand, image("")), "body text"},
		{"logo of no named type", multi("related", "Content-Type: text/html\n\n"+phish, strings.Replace(image(""), "image/png", "application/octet-stream", 1)), multi("related", "Content-Type: text/html\n\n"+brand, image("")), "body text"},
		{"invitations", calendar("bob@a.example", "20260101"), calendar("anna@b.example", "20270505"), ""},
		{"business cards", card("text/vcard", "bob@a.example"), card("text/vcard", "anna@b.example"), ""},
		{"old business cards", card("text/x-vcard", "bob@a.example"), card("text/x-vcard", "anna@b.example"), ""},
		{"headers", header + "X: 1", header + "X: 2", "body"},
		{"bounces", bounce("bob@a.example", "4A1B2C"), bounce("anna@b.example", "9F00AA"), "body"},
		{"a bounce and what it returns", returned(prose), "\n" + prose, ""},
		{"automatic replies", away("bob@a.example", "12.03."), away("anna@b.example", "24/12"), "body"},
		{"cover notes", coverNote("1", "evil"), coverNote("883", "good"), "body attachment"},
	} {
		a, b := signature.Compute(signature.Parse([]byte(tt.a))), signature.Compute(signature.Parse([]byte(tt.b)))
		if got := kinds(a); tt.name != "a bounce and what it returns" && got != tt.kinds {
			t.Errorf("%s: signed by %q, want %q", tt.name, got, tt.kinds)
		}
		for _, s := range a.Signatures {
			for _, other := range b.Signatures {
				if s == other {
					t.Errorf("%s: both have %s; text %q", tt.name, s.ID(), signature.Text(signature.Parse([]byte(tt.a))))
				}
			}
		}
	}
}

// The content of spam signs nevertheless.
func TestContentSigns(t *testing.T) {
	for _, tt := range []struct{ name, raw, kinds string }{
		{"only an image", multi("related", "Content-Type: text/html\n\n<img src=cid:logo>", image("Content-ID: <logo>\n")), "body attachment"},
		{"image as a file", multi("mixed", "Content-Type: text/html\n\n"+phish, image("Content-Disposition: attachment\n")), "body attachment"},
		{"image twice", multi("related", "Content-Type: text/html\n\n", image("Content-Disposition: attachment\n"), image("Content-ID: <logo>\n")), "body attachment"},
		{"ample text and a file", multi("mixed", "\n"+ampleProse, file("x")), "body text attachment"},
		{"ample text in an automatic reply", "Auto-Submitted: auto-replied\n\n" + ampleProse, "body text"},
		{"mail made by a program", "Auto-Submitted: auto-generated\n\n" + prose, "body text"},
		{"enriched text", "Content-Type: text/enriched\n\n" + prose, "body text"},
		{"text of an unknown type", "Content-Type: text/x-whatever\n\n" + prose, "body text"},
		{"text beside a report", multi("mixed", "\n"+prose, bounce("bob@a.example", "4A1B2C")), "body text"},
		{"text and a small file", multi("mixed", "\n"+prose, "Content-Type: application/pdf\n\nx"), "body text"},
		{"a table", "Content-Type: text/csv\n\n" + strings.Repeat("1,2,3\n", minAttachment), "body attachment"},
	} {
		if got := kinds(signature.Compute(signature.Parse([]byte(tt.raw)))); got != tt.kinds {
			t.Errorf("%s: signed by %q, want %q", tt.name, got, tt.kinds)
		}
	}
}
