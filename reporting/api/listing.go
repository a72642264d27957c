package api

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// NeverRequest adds a message to the never-list, or removes one.
type NeverRequest struct {
	Request
	Note string `json:"note,omitempty"` // to add: at most 200 bytes of visible characters
	ID   string `json:"id,omitempty"`   // to remove: of an entry, in place of signatures
}

// ExplainRequest asks why a message has its verdict.
type ExplainRequest struct {
	Request
	From string `json:"from,omitempty"` // registrable domain that the message claims to be from
}

// LearnRequest is a message of an archive of wanted mail.
type LearnRequest struct {
	Request
	From string    `json:"from"`        // registrable domain of From
	At   time.Time `json:"at,omitzero"` // of arrival; absent, or in the future: now
}

// Learned is the answer to a LearnRequest.
type Learned struct {
	Learned bool `json:"learned"` // false: the message matches a report
}

// CheckFrom returns an error if from is no registrable domain. It may be empty.
func CheckFrom(from string) error {
	if len(from) > maxDomain || from != "" && !signature.IsDomain(from) {
		return fmt.Errorf("from %.100q: want a registrable domain in lower case ASCII", from)
	}
	return nil
}

// NeverEntry is one message on the never-list.
type NeverEntry struct {
	ID   string    `json:"id"` // of its strongest signature
	At   time.Time `json:"at"` // when it was added
	Note string    `json:"note,omitempty"`
}

// NeverList is the never-list, or the entries that were added or removed. The latest entry
// comes first.
type NeverList struct {
	Entries []NeverEntry `json:"entries"`
	Verdict string       `json:"verdict,omitempty"` // on the message of the request, from now on
}

// Retouching is the effect of a retouch, or of one that is planned.
type Retouching struct {
	Listings []RetouchedListing `json:"listings"` // that no longer find the message; empty if it is not listed

	// Loss is the expected number of reported signatures that are no longer found, if the
	// message itself was never reported. LossOfOthers is that number of other messages, if
	// it was.
	Loss         float64 `json:"loss"`
	LossOfOthers float64 `json:"loss_of_others"`

	Verdict string `json:"verdict"` // on the message, from now on
}

// RetouchedListing is one signature in one generation in which a bit is masked.
type RetouchedListing struct {
	ID           string    `json:"id"`
	Generation   int64     `json:"generation"`
	Start        time.Time `json:"start"` // begin of the generation's period
	Loss         float64   `json:"loss"`
	LossOfOthers float64   `json:"loss_of_others"`
}

// RetouchedList contains the retouched signatures, those of the newest generation first
// and among them the latest first. It has at most 10,000 of Total.
type RetouchedList struct {
	Total      int            `json:"total"`
	Signatures []RetouchedKey `json:"signatures"`
}

// RetouchedKey is a signature that is retouched in a generation.
type RetouchedKey struct {
	ID         string    `json:"id"`
	Generation int64     `json:"generation"`
	Start      time.Time `json:"start"` // begin of the generation's period
	At         time.Time `json:"at"`    // of the retouch
}
