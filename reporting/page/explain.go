package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/signature"
)

// explainData is what is known of a message.
type explainData struct {
	Asked       string // header line, id or text that was pasted
	Name        string // of the file
	Explanation *api.Explanation
	Lookup      *api.Lookup // of what was pasted
	Message     string      // the signatures, for the forms of actions
	Loss        *api.Retouching
	Truncated   bool
}

// uploadTime is how long a user may take to send a message. The listener allows less, for
// requests that have no body: a large message takes longer through a forwarded port.
const uploadTime = time.Minute

// explain reads a message from a form, signs it, and shows why it is judged as it is. The
// message is held in memory until its signatures are known, and nowhere else.
func (p *Page) explain(w http.ResponseWriter, r *http.Request) {
	s := p.Sessions.of(r)
	if s == nil {
		p.failed(w, r, errVisitor)
		return
	}
	leave, ok := p.uploads.enter(s.name, p.rights(r, s)["administrate"])
	if !ok {
		p.failed(w, r, errBusy)
		return
	}
	defer leave()
	conn := http.NewResponseController(w)
	_ = errors.Join(conn.SetReadDeadline(time.Now().Add(uploadTime)), conn.SetWriteDeadline(time.Now().Add(2*uploadTime))) // else those of the listener
	up, err := p.readUpload(w, r, s)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	if len(up.content) == 0 {
		p.fail(w, r, http.StatusBadRequest, "Choose a message first: a file, or its source pasted into the field")
		return
	}
	m := signature.Parse(up.content)
	m.Truncated = up.truncated
	p.showExplanation(w, r, api.NewRequest(p.Sign(m)), explainData{Name: up.name, Truncated: up.truncated})
}

func (p *Page) showExplanation(w http.ResponseWriter, r *http.Request, q api.Request, d explainData) {
	if err := p.learn(r, q, &d); err != nil {
		p.failed(w, r, err)
		return
	}
	message, err := json.Marshal(q)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	d.Message = string(message)
	v := p.view(r, "Why this mail?", d)
	if v.May("administrate") && d.Explanation.Verdict == "spam" {
		if plan, err := post(p, r, v1.PlanRetouch, q); err == nil {
			d.Loss = &plan
			v.Data = d
		}
	}
	p.show(w, http.StatusOK, "explain", v)
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
	name      string
	content   []byte
	truncated bool
}

// errForm is the error for a form that no page of the session has sent.
var errForm = api.NewProblem(http.StatusForbidden, "this form is not of your session: open the page again")

// readUpload reads the parts of the form in their order, so that nothing is kept before the
// form's token is known to be right.
func (p *Page) readUpload(w http.ResponseWriter, r *http.Request, s *session) (up upload, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, p.MaxMessage+1<<20)
	parts, err := r.MultipartReader()
	if err != nil {
		return up, api.NewProblem(http.StatusBadRequest, "the form has no message")
	}
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
			if up, err = p.readPart(part); err != nil {
				return up, uploadProblem(err)
			}
		}
	}
}

func (p *Page) readPart(part *multipart.Part) (upload, error) {
	content, err := io.ReadAll(io.LimitReader(part, p.MaxMessage+1))
	up := upload{name: part.FileName(), content: content}
	if int64(len(content)) > p.MaxMessage {
		up.content, up.truncated = content[:p.MaxMessage], true
	}
	if strings.TrimSpace(string(up.content[:min(len(up.content), 1024)])) == "" {
		up.content = nil
	}
	return up, err
}

func uploadProblem(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return api.NewProblem(http.StatusRequestEntityTooLarge, "the message is too large: more than %d MiB", tooLarge.Limit>>20)
	}
	return api.NewProblem(http.StatusBadRequest, "the form could not be read: %v", err)
}

// Because is one reason for a verdict, in words.
type Because struct {
	What, ID, Text string
	Where          string
	Counts         bool // it stands: not revoked, hidden or too weak
}

// Reasons puts an explanation in words, the reasons that count first.
func (d explainData) Reasons() (list []Because) {
	for _, t := range d.Explanation.Signatures {
		b := Because{What: kindWords(t.Kind), ID: t.ID, Counts: t.Listed}
		switch {
		case t.Never:
			b.Text = "reported, but on the never-list"
		case t.Listed:
			b.Text = "reported, and not revoked since"
		case len(t.Spam) > 0 && len(t.Revoked) > 0:
			b.Text = "reported and revoked"
		case len(t.Revoked) > 0:
			b.Text = "revoked; no report of it lists mail"
		case len(t.Spam) > 0:
			b.Text = "reported, but hidden or revoked here"
		default:
			b.Text = "not listed by any site"
		}
		b.Where = strings.Join(slices.Concat(trails(t.Spam, ""), trails(t.Revoked, "revoked at "), votes(t.Votes)), "; ")
		list = append(list, b)
	}
	for _, t := range d.Explanation.Sketches {
		for _, s := range t.Spam {
			b := Because{What: kindWords(t.Kind), ID: s.ID, Counts: s.Found >= s.Need, Where: fmt.Sprintf("%s, since %s", s.Site, s.Start.Local().Format("2 Jan"))}
			b.Text = fmt.Sprintf("%d of %d features of a reported message; %d are needed", s.Found, s.Keys, s.Need)
			if s.Common > 0 {
				b.Text += fmt.Sprintf("; %d more are in mail of many senders, so they are no evidence here", s.Common)
			}
			list = append(list, b)
		}
	}
	for _, t := range d.Explanation.Domains {
		b := Because{What: "link", ID: t.Domain, Counts: t.Alone, Where: strings.Join(t.Reported, ", ")}
		switch {
		case t.Ignored:
			b.Text = "too common to be evidence"
		case t.NotAlone == "common":
			b.Text = "in mail of many senders, so it is no evidence here"
		case t.Campaigns > 0:
			b.Text = fmt.Sprintf("in %s, and in %s", count(t.Campaigns, "reported campaign"), count(t.Sightings, "other message"))
		case len(t.Reported) > 0:
			b.Text = "in a reported message"
		default:
			b.Text = "never reported, seen in " + count(t.Sightings, "message")
		}
		list = append(list, b)
	}
	return list
}

// trails names the sites of a signature and their periods.
func trails(list []api.Trail, what string) (sites []string) {
	for _, t := range list {
		where := fmt.Sprintf("%s%s, period from %s", what, t.Site, t.Start.Local().Format("2 Jan"))
		for _, c := range t.Classes {
			where += " (" + c.String() + ")"
		}
		if t.Retouched {
			where += ", hidden here"
		}
		sites = append(sites, where)
	}
	return sites
}

// votes names the sites that are heard for votes only.
func votes(list []api.Vote) (sites []string) {
	for _, v := range list {
		where := "vote of " + v.Site
		if v.Stale {
			where += ", too old to count"
		}
		sites = append(sites, where)
	}
	return sites
}

// kindWords names a kind of signature for people.
func kindWords(kind string) string {
	switch kind {
	case "body":
		return "exact body"
	case "text":
		return "visible text"
	case "sketch":
		return "similar text"
	case "image":
		return "similar picture"
	case "attachment":
		return "attachment"
	case "content":
		return "content of an attachment"
	case "shape":
		return "structure of the page"
	case "phrase":
		return "few words with a link"
	}
	return kind
}
