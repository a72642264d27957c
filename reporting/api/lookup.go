package api

import "time"

// LookupRequest asks what is known of a message that the caller need not have. It has
// exactly one of a message, an ID and a QueueID.
type LookupRequest struct {
	Request        // a message
	ID      string `json:"id,omitempty"`       // of one of its signatures, as in headers and logs
	QueueID string `json:"queue_id,omitempty"` // of the MTA
}

// Lookup is what is known of a message.
type Lookup struct {
	// Explanation is about the latest message that was found, by the parts of it that are
	// known. Absent if none was found.
	Explanation *Explanation `json:"explanation,omitempty"`

	Reports []Reported `json:"reports"` // that are kept, the latest first, at most 100
	Judged  []Judged   `json:"judged"`  // that are remembered, the latest first, at most 100
	Since   time.Time  `json:"since"`   // all messages judged from then on are remembered
	Unknown []string   `json:"unknown"` // what could not be looked up, and why
}

// Judged is one judgement on a copy of a message.
type Judged struct {
	At      time.Time `json:"at"`
	QueueID string    `json:"queue_id,omitempty"` // absent if the caller may not see it
	Verdict string    `json:"verdict"`
	Spared  string    `json:"spared,omitempty"` // proven From domain without which a near match would list it
	IDs     []string  `json:"ids"`              // of its signatures
}
