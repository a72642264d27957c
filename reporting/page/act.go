package page

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/why"
)

// Bounds of the form of an action, in bytes.
const (
	maxForm   = 3*api.MaxBody + 4096 // the signatures, with every character escaped
	smallForm = 64 << 10             // needs no place
)

var errBusy = api.NewProblem(http.StatusTooManyRequests, "Other messages are being read. Try again in a moment")

// readForm reads a form of a session, which must be one of its pages'. In memory a form is several
// times as large as it was sent, so a large one takes a place, as a message does. The caller calls
// done when the form is no longer used. It reads no files: those would be written to the disk.
func (p *Page) readForm(w http.ResponseWriter, r *http.Request, s *session) (done func(), err error) {
	most, done, read := int64(smallForm), func() {}, func() bool { return true }
	if r.ContentLength < 0 || r.ContentLength > smallForm {
		place := p.uploads.Enter(w, s.name, p.rights(r, s)["administrate"])
		if place == nil {
			return nil, errBusy
		}
		most, done, read = maxForm, place.Leave, place.Read
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	err = r.ParseForm()
	if !read() {
		err = errBusy
	} else if err != nil {
		err = uploadProblem(err)
	} else if !s.allows(r, r.PostForm.Get("form")) {
		err = errForm
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// withForm reads the form of a request, and calls do while it holds the form's place. The error
// of a request without a session is none.
func (p *Page) withForm(w http.ResponseWriter, r *http.Request, none error, do func()) {
	s := p.Sessions.of(r)
	if s == nil {
		p.failed(w, r, none)
		return
	}
	done, err := p.readForm(w, r, s)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	defer done()
	do()
}

// act carries out one action on a message, in the name of the user, through the control API.
func (p *Page) act(w http.ResponseWriter, r *http.Request) {
	p.withForm(w, r, errVisitor, func() { p.carryOutForm(w, r) })
}

func (p *Page) carryOutForm(w http.ResponseWriter, r *http.Request) {
	switch r.PostFormValue("do") {
	case "revoke-id":
		p.revokeID(w, r)
		return
	case "settle-report":
		p.settleReport(w, r)
		return
	}
	var q api.Request
	if err := api.Decode(strings.NewReader(r.PostFormValue("message")), &q); err != nil {
		p.fail(w, r, http.StatusBadRequest, "The form has no message: "+err.Error())
		return
	}
	text, err := p.carryOut(r, r.PostFormValue("do"), q)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.done(w, r, text)
}

// done shows the answer to an action.
func (p *Page) done(w http.ResponseWriter, r *http.Request, text string) {
	p.status.forget()
	p.campaigns.forget()
	for _, c := range p.courses {
		c.forget()
	}
	d := doneData{Text: text, Next: "/explain", Words: "Look at another message"}
	if r.PostFormValue("do") == "settle-report" {
		d.Next, d.Words = "/campaigns?only=contested", "Back to what is contested or held"
	}
	p.show(w, http.StatusOK, "done", p.view(r, "Done", d))
}

// revokeID revokes a message that was found by what somebody pasted.
func (p *Page) revokeID(w http.ResponseWriter, r *http.Request) {
	q, problem := lookupOf(r.PostFormValue("ask"))
	if problem != "" {
		p.fail(w, r, http.StatusBadRequest, "The form names no message")
		return
	}
	receipt, err := post(p, r, v1.RevokeID, q)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.done(w, r, revoked(receipt))
}

// settleReport settles the message of a report that is kept.
func (p *Page) settleReport(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.ParseUint(r.PostFormValue("report"), 10, 64)
	if err != nil || number == 0 {
		p.fail(w, r, http.StatusBadRequest, "The form names no report")
		return
	}
	receipt, err := post(p, r, v1.Settle, api.SettleRequest{Report: number, As: r.PostFormValue("as")})
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.done(w, r, why.Settled+" "+held(receipt))
}

// carryOut returns what was done, in one sentence.
func (p *Page) carryOut(r *http.Request, action string, q api.Request) (string, error) {
	switch action {
	case "report":
		class, err := bloomdb.ParseClass(r.PostFormValue("class"))
		if err != nil {
			return "", api.NewProblem(http.StatusBadRequest, "%v", err)
		}
		q.Class = class
		receipt, err := post(p, r, v1.Report, q)
		return "Reported. " + held(receipt), err
	case "revoke":
		receipt, err := post(p, r, v1.Revoke, q)
		return revoked(receipt), err
	case "never":
		list, err := post(p, r, v1.Never, api.NeverRequest{Request: q, Note: strings.TrimSpace(r.PostFormValue("note"))})
		return "Declared never spam on this site. The verdict is now " + list.Verdict + ".", err
	case "settle":
		receipt, err := post(p, r, v1.Settle, api.SettleRequest{Request: q, As: r.PostFormValue("as")})
		return why.Settled + " " + held(receipt), err
	case "retouch":
		done, err := post(p, r, v1.Retouch, q)
		return "Hidden on this site. The verdict is now " + done.Verdict + ".", err
	}
	return "", api.NewProblem(http.StatusBadRequest, "there is no action %.20q", action)
}

func revoked(r api.Receipt) string {
	if r.Idle {
		return "Nothing has changed. " + held(r)
	}
	return "Revoked. " + held(r)
}

// held returns the verdict after a report or a revocation, and what holds from when.
func held(r api.Receipt) string {
	text := "The verdict is now " + r.Verdict + ". " + r.Holds
	if r.Offer == "retouch" {
		text = "The same mistake came back after an earlier revocation: hide it on this site, or declare it never spam. " + text
	}
	return text
}
