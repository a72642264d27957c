package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/page/uploads"
	"github.com/spambloom/spambloom/reporting/why"
	"github.com/spambloom/spambloom/signature"
)

// explainData is what is known of a message.
type explainData struct {
	Asked       string // header line, id or text that was pasted
	Problem     string // with what was pasted
	Name        string // of the file
	Explanation *api.Explanation
	Lookup      *api.Lookup // of what was pasted
	Message     string      // the signatures, for the forms of actions
	Loss        *api.Retouching
	Truncated   bool
}

// explain reads a message from a form, signs it, and shows why it is judged as it is. The
// message is held in memory until its signatures are known, and nowhere else.
func (p *Page) explain(w http.ResponseWriter, r *http.Request) {
	s := p.Sessions.of(r)
	if s == nil {
		p.failed(w, r, errVisitor)
		return
	}
	uploads.AllowTime(w)
	place := p.uploads.Enter(w, s.name, p.rights(r, s)["administrate"])
	if place == nil {
		p.failed(w, r, errBusy)
		return
	}
	defer place.Leave()
	up, err := p.readUpload(w, r, s)
	if !place.Read() {
		err = errBusy
	}
	if err != nil {
		p.failed(w, r, err)
		return
	}
	if len(up.content) == 0 {
		p.fail(w, r, http.StatusBadRequest, "Choose a message first: a file, or its source pasted into the field")
		return
	}
	m, isCut := signature.ParseWithin(up.content, p.MaxMessage())
	v, err := p.explanation(r, api.NewRequest(p.Sign(m)), explainData{Name: up.name, Truncated: isCut})
	if err != nil {
		p.failed(w, r, err)
		return
	}
	place.Answer(w)
	p.show(w, http.StatusOK, "explain", v)
}

func (p *Page) explanation(r *http.Request, q api.Request, d explainData) (*view, error) {
	if err := p.learn(r, q, &d); err != nil {
		return nil, err
	}
	message, err := json.Marshal(q)
	d.Message = string(message)
	v := p.view(r, "Why this mail?", d)
	if v.May("administrate") && d.Explanation.Verdict == "spam" {
		if plan, err := post(p, r, v1.PlanRetouch, q); err == nil {
			d.Loss = &plan
			v.Data = d
		}
	}
	return v, err
}

// learn asks what is known of a message: also who reported it, and its copies. A message
// without signatures can only be explained.
func (p *Page) learn(r *http.Request, q api.Request, d *explainData) error {
	if len(q.Signatures) > 0 {
		known, err := post(p, r, v1.Lookup, api.LookupRequest{Request: q})
		d.Lookup, d.Explanation = &known, known.Explanation
		if err != nil || d.Explanation != nil {
			return err
		}
	}
	x, err := post(p, r, v1.Explain, api.SenderRequest{Request: q})
	d.Explanation = &x
	return err
}

// upload is a message from a form.
type upload struct {
	name    string
	content []byte // may be longer than MaxMessage
}

// errForm is the error for a form that no page of the session has sent.
var errForm = api.NewProblem(http.StatusForbidden, "this form is not of your session: open the page again")

// readUpload reads the parts of the form in their order, so that nothing is kept before the
// form's token is known to be right.
func (p *Page) readUpload(w http.ResponseWriter, r *http.Request, s *session) (up upload, err error) {
	most := p.MaxMessage() + 1<<20
	r.Body = http.MaxBytesReader(w, r.Body, most)
	parts, err := r.MultipartReader()
	if err != nil {
		return up, api.NewProblem(http.StatusBadRequest, "the form has no message")
	}
	var content bytes.Buffer
	allowed := false
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return up, nil
		}
		if err != nil {
			return up, uploadProblem(err)
		}
		switch name := part.FormName(); {
		case name == "form":
			token, err := io.ReadAll(io.LimitReader(part, 64))
			if err != nil {
				return up, uploadProblem(err)
			}
			allowed = s.allows(r, string(token))
		case !allowed:
			return up, errForm
		case (name == "message" || name == "source") && len(up.content) == 0:
			if r.ContentLength >= 0 {
				most = min(most, r.ContentLength)
			}
			content.Reset()
			content.Grow(int(most) + bytes.MinRead) // a buffer that grows takes twice as much
			if _, err := content.ReadFrom(part); err != nil {
				return up, uploadProblem(err)
			}
			up.name = part.FileName()
			if raw := content.Bytes(); len(bytes.TrimSpace(raw[:min(len(raw), 1024)])) > 0 {
				up.content = raw
			}
		}
	}
}

func uploadProblem(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return api.NewProblem(http.StatusRequestEntityTooLarge, "the message is too large: more than %d MiB", tooLarge.Limit>>20)
	}
	return api.NewProblem(http.StatusBadRequest, "the form could not be read: %v", err)
}

// Reasons says what is known of each part of the message.
func (d explainData) Reasons() []why.Reason { return why.Reasons(d.Explanation) }

// Weight says which weight of reporters is missing for another verdict.
func (d explainData) Weight() string { return why.Weight(d.Explanation) }

// Missing says whose reports may be missing.
func (d explainData) Missing() []string { return why.Missing(d.Explanation) }

// IsReported reports whether there is something to revoke: the message is spam, or somebody here
// reported it and stands by it.
func (d explainData) IsReported() bool {
	return d.Explanation.Verdict == "spam" || d.Lookup != nil && slices.ContainsFunc(d.Lookup.Reports, func(r api.Reported) bool {
		return r.Action == "report" && (r.State == "counts" || r.State == "held")
	})
}

// IsDisputed reports whether there is something to settle, or was: people say different things, or
// a report is held.
func (d explainData) IsDisputed() bool {
	reported, revoked := false, false
	if d.Lookup == nil {
		return false
	}
	for _, r := range d.Lookup.Reports {
		reported = reported || r.Action == "report"
		revoked = revoked || r.Action == "revoke"
		if r.State == "held" || r.Reporter == api.Settler {
			return true
		}
	}
	return reported && revoked
}
