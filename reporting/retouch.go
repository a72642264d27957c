package reporting

import (
	"math"
	"net/http"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// maxRetouchedList is how many retouched signatures an answer names at most.
const maxRetouchedList = 10_000

// Retouching is what /v1/retouch has done and /v1/retouch/plan would do.
type Retouching struct {
	// Listings are those that the message is taken out of; none where nothing
	// lists it.
	Listings []RetouchedListing `json:"listings"`

	// Loss is how many reported signatures, in expectation, are no longer found,
	// if the message itself was never reported; LossOfOthers, how many of other
	// messages, if it was.
	Loss         float64 `json:"loss"`
	LossOfOthers float64 `json:"loss_of_others"`

	Verdict string `json:"verdict"` // on the message, from now on
}

// RetouchedListing is one signature in one generation, of which a bit is masked.
type RetouchedListing struct {
	ID           string    `json:"id"`
	Generation   int64     `json:"generation"`
	Start        time.Time `json:"start"` // begin of the generation's period
	Loss         float64   `json:"loss"`
	LossOfOthers float64   `json:"loss_of_others"`
}

// RetouchedList is what /v1/retouched says.
type RetouchedList struct {
	Total      int            `json:"total"`
	Signatures []RetouchedKey `json:"signatures"` // the newest generation first, in it the latest; at most 10,000
}

// RetouchedKey is a signature that is retouched in a generation.
type RetouchedKey struct {
	ID         string    `json:"id"`
	Generation int64     `json:"generation"`
	Start      time.Time `json:"start"`
	At         time.Time `json:"at"` // when it was retouched
}

// Retouch takes a message out of the listings on this site; errors are those of
// bloomdb.DB.Retouch. When the error is nil, that is on disk.
func (d *Desk) Retouch(r Report) (bloomdb.Retouching, error) {
	done, err := d.db.Retouch(r.Set)
	if err != nil {
		d.refused.WithLabelValues("retouch", reason(err)).Inc()
		return done, err
	}
	d.accepted.WithLabelValues("retouch", r.Class.String()).Inc()
	d.log.Info("retouch accepted", "reporter", r.Reporter, r.Origin.attr(),
		"ids", ids(r.Set.Signatures), "listings", len(done.Listings), "loss", done.Loss)
	return done, nil
}

func (h *handler) retouch(r *http.Request) (any, error) {
	return h.retouchBy(r, h.desk.Retouch)
}

func (h *handler) planRetouch(r *http.Request) (any, error) {
	return h.retouchBy(r, func(report Report) (bloomdb.Retouching, error) { return h.desk.db.PlanRetouch(report.Set) })
}

func (h *handler) retouchBy(r *http.Request, do func(Report) (bloomdb.Retouching, error)) (any, error) {
	report, err := read(r)
	if err != nil {
		return nil, err
	}
	done, err := do(report)
	if err != nil {
		return nil, err
	}
	answer := newRetouching(done)
	answer.Verdict = h.verdict(h.desk.db.Judge(report.Set), report)
	return answer, nil
}

func newRetouching(r bloomdb.Retouching) Retouching {
	wire := Retouching{Listings: make([]RetouchedListing, len(r.Listings)), Loss: figure(r.Loss), LossOfOthers: figure(r.LossOfOthers)}
	for i, l := range r.Listings {
		wire.Listings[i] = RetouchedListing{l.Signature.ID(), l.Generation, l.Start.UTC(), figure(l.Loss), figure(l.LossOfOthers)}
	}
	return wire
}

// figure leaves out the digits of an estimate that say nothing.
func figure(v float64) float64 { return math.Round(v*1000) / 1000 }

func (h *handler) retouched(*http.Request) (any, error) {
	keys := h.desk.db.Retouched()
	list := RetouchedList{Total: len(keys), Signatures: make([]RetouchedKey, min(len(keys), maxRetouchedList))}
	for i := range list.Signatures {
		k := keys[i]
		list.Signatures[i] = RetouchedKey{k.ID, k.Generation, k.Start.UTC(), k.At.UTC()}
	}
	return list, nil
}
