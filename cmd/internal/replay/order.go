package replay

import (
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/suffix"
)

// earliest is the oldest plausible time: there was hardly any mail before, and broken
// clocks begin at 1970.
var earliest = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// maxReceived bounds the Received fields that are searched for a time.
const maxReceived = 8

// TimeOf returns when a message arrived: the time of its newest Received field (RFC 5322,
// section 3.6.7) that has one, otherwise its Date. It returns zero if neither is between
// 1980 and latest. Date is set by the sender, and often wrong in spam.
func TimeOf(m signature.Message, latest time.Time) time.Time {
	var date string
	received := 0
	for _, f := range m.Header {
		switch {
		case strings.EqualFold(f.Name, "Received") && received < maxReceived:
			received++
			at := strings.LastIndexByte(f.Value, ';')
			if t := parseTime(f.Value[at+1:], latest); at >= 0 && !t.IsZero() {
				return t
			}
		case strings.EqualFold(f.Name, "Date") && date == "":
			date = f.Value
		}
	}
	return parseTime(date, latest)
}

// FromOf returns the registrable domain in From; "" if it has none that a daemon takes, such as an
// address in brackets. A sender chooses it, and one message must not stop the reading of others.
func FromOf(m signature.Message) string {
	for _, f := range m.Header {
		if !strings.EqualFold(f.Name, "From") {
			continue
		}
		host := f.Value[strings.LastIndexByte(f.Value, '@')+1:]
		end := strings.IndexFunc(host, func(r rune) bool { return r <= ' ' || strings.ContainsRune(">,;)", r) })
		if end >= 0 {
			host = host[:end]
		}
		domain := suffix.Registrable(strings.ToLower(host))
		if !signature.IsDomain(domain) {
			return ""
		}
		return domain
	}
	return ""
}

// parseTime parses a date-time of RFC 5322, including obsolete forms. It returns zero if
// the text is invalid or implausible.
func parseTime(text string, latest time.Time) time.Time {
	text = strings.Join(strings.Fields(text), " ") // removes folding
	t, err := mail.ParseDate(text)
	if err != nil {
		// Remove comments that net/mail does not parse, such as "(Central European Time
		// (summer))".
		text, _, _ = strings.Cut(text, "(")
		if t, err = mail.ParseDate(strings.TrimSpace(text)); err != nil {
			return time.Time{}
		}
	}
	if t.Before(earliest) || t.After(latest) {
		return time.Time{}
	}
	return t.UTC()
}

// Sort sorts messages by time and returns the number of those without one. Those take the time of the
// previous message in the given order, or of the first that has one. Messages with equal
// times keep their order.
func Sort(messages []Message) (without int) {
	var last time.Time
	for _, m := range messages {
		if !m.Time.IsZero() {
			last = m.Time
			break
		}
	}
	for i := range messages {
		m := &messages[i]
		if m.Time.IsZero() {
			without++
			m.Time = last
		}
		last = m.Time
	}
	slices.SortStableFunc(messages, func(a, b Message) int { return a.Time.Compare(b.Time) })
	return without
}
