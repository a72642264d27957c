package reporting

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Checked is what /v1/fsck has found in the state folder.
type Checked struct {
	Faults []string `json:"faults"` // none: all is well
}

// Fsck reads all files of the state folder and names what is damaged in them. Mail and
// reports go on beside it. It takes as long as the disk takes to read them.
func (d *Desk) Fsck() Checked {
	checked := Checked{Faults: []string{}}
	if err := errors.Join(d.db.CheckFiles(), d.ledger.Check()); err != nil {
		checked.Faults = strings.Split(err.Error(), "\n")
	}
	return checked
}

// fsck answers /v1/fsck.
func (h *handler) fsck(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request is read; not all writers have one
	checked := h.desk.Fsck()
	for _, fault := range checked.Faults {
		h.Log.Error("the state folder is damaged", "fault", fault)
	}
	_ = control.SetWriteDeadline(time.Now().Add(stallTimeout)) // it took its time
	writeJSON(w, http.StatusOK, "application/json", checked)
}

// Fsck has the daemon read all files of its state folder; ctx bounds the time.
func (c *Client) Fsck(ctx context.Context) (checked Checked, err error) {
	err = c.askLong(ctx, http.MethodGet, "/v1/fsck", nil, &checked)
	return checked, err
}
