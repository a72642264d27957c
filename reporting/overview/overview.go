// Package overview is what an administrator looks at first: how a site is, what needs
// somebody, and what happened in the last 24 hours, with its words for people. Package watch
// makes it from the facts.
package overview

import "time"

// The states of a site, the worst last.
const (
	OK        = "ok"        // nothing needs anybody
	Attention = "attention" // mail is judged; something is stale, full, or unsettled
	Fault     = "fault"     // mail is not judged, or reports are not written
)

// NoNeed ends the sentence of a site that needs nobody.
const NoNeed = "Nothing needs you."

// Overview is what an administrator looks at first. The JSON names are stable.
type Overview struct {
	State    string `json:"state"`    // ok, attention or fault
	Sentence string `json:"sentence"` // for people
	Needs    []Need `json:"needs"`    // empty if the state is ok; faults first

	// LastDay counts the last 24 hours, the current one included, by the keys of package
	// figures. DayBefore counts the 24 hours before.
	LastDay   map[string]uint64 `json:"last_24h"`
	DayBefore map[string]uint64 `json:"day_before"`

	Started     time.Time `json:"started"`               // of the daemon
	TargetError float64   `json:"target_error_per_mail"` // [reports] max_error_per_mail
	Resident    int64     `json:"resident_bytes"`        // memory of the daemon; 0: unknown
	MostMemory  int64     `json:"most_memory_bytes"`     // its bound; 0: unknown
	MostDisk    int64     `json:"most_disk_bytes"`       // bound of its state folder; 0: unknown
}

// Need is something that needs somebody.
type Need struct {
	Text    string `json:"text"`              // for people
	Command string `json:"command,omitempty"` // to look at it, or to mend it
	Page    string `json:"page,omitempty"`    // path of the page where it can be seen
	IsFault bool   `json:"fault,omitempty"`   // mail is not judged, or reports are not written
	Kind    string `json:"kind"`              // a key of figures.Needs
	Count   int    `json:"count"`             // number of things, at least 1
}
