package replay

import (
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// earliest is the oldest time that is believed: there was hardly any mail before,
// and broken clocks begin at 1970.
var earliest = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// maxReceived is how many Received fields are looked at for a time.
const maxReceived = 8

// TimeOf is when a message arrived: the time of its newest Received field (RFC
// 5322, section 3.6.7) that has one, else its Date. It is zero where neither is
// between 1980 and latest. Date is the sender's word, and spam lies about it.
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

// parseTime reads a date-time of RFC 5322, also of the obsolete forms; zero where
// it is none or not believed.
func parseTime(text string, latest time.Time) time.Time {
	text = strings.Join(strings.Fields(text), " ") // folds
	t, err := mail.ParseDate(text)
	if err != nil {
		// Comments that net/mail does not read, as "(Central European Time (summer))".
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

// Sort brings messages into the order of their times and says how many have
// none. Those take the time of the message before them in the order given, or of
// the first that has one; messages of one time keep their order.
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
