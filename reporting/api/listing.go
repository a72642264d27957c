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

// SenderRequest is a message with the domain that it claims to be from: to explain its verdict, or
// to learn from it as wanted mail.
type SenderRequest struct {
	Request
	From string    `json:"from,omitempty"` // registrable domain of From
	At   time.Time `json:"at,omitzero"`    // to learn: of arrival; absent, or in the future: now
	Keep bool      `json:"keep,omitempty"` // in place of a message: answer when all that was learned is on disk
}

// Read checks every member of the request but At and Keep, of which any is valid, and returns the message's
// signatures.
func (r SenderRequest) Read() (signature.Set, error) {
	if len(r.From) > maxDomain || r.From != "" && !signature.IsDomain(r.From) {
		return signature.Set{}, fmt.Errorf("from %.100q: want a registrable domain in lower case ASCII", r.From)
	}
	return r.Request.Read()
}

// Learned is the answer to a request to learn.
type Learned struct {
	Learned bool `json:"learned"` // false: the message matches a report
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
