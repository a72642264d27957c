package server

import (
	"errors"
	"net/http"
	"slices"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
)

func (h *handler) siteList() []api.Site {
	if h.Sites == nil {
		return h.desk.Sites(nil)
	}
	return h.Sites()
}

// maxUnheard bounds the sites of an explanation: a holder of the federation key can invent some.
const maxUnheard = 100

// unheard returns the sites whose latest reports may be missing here.
func (h *handler) unheard() []api.Site {
	list := slices.DeleteFunc(h.siteList(), func(s api.Site) bool { return !s.IsBehind() })
	return list[:min(len(list), maxUnheard)]
}

func (h *handler) sites(caller) (api.SiteList, error) {
	list := api.SiteList{Sites: h.siteList(), NewSite: h.desk.IsNewSite()}
	if h.Strangers != nil {
		list.Refused = h.Strangers()
	}
	if h.SiteNotes != nil {
		list.RedisFault, list.Notes = h.SiteNotes()
	}
	return list, nil
}

// site returns another site. A name without a site is refused, because most of the time it
// is a typing error.
func (h *handler) site(name string) (api.Site, error) {
	isAlone := true
	for _, s := range h.siteList() {
		switch {
		case s.Site == name && s.State == api.StateSelf:
			return s, api.NewProblem(http.StatusUnprocessableEntity, "%s is this site itself", name)
		case s.Site == name:
			return s, nil
		case s.State != api.StateSelf:
			isAlone = false
		}
	}
	if isAlone {
		return api.Site{}, api.NewProblem(http.StatusUnprocessableEntity, "there is no site %.64q: this one knows no others", name)
	}
	return api.Site{}, api.NewProblem(http.StatusUnprocessableEntity, "there is no site %.64q", name)
}

func (h *handler) mute(c caller, q api.SiteRequest) (api.SiteReceipt, error) {
	return h.silence(c, q, func(by desk.Author) error { return h.desk.Mute(q.Site, q.Undo, by) })
}

func (h *handler) drop(c caller, q api.SiteRequest) (api.SiteReceipt, error) {
	return h.silence(c, q, func(by desk.Author) error {
		if q.Undo {
			return badRequest(errors.New("what was dropped is gone; muting takes undo"))
		}
		return h.desk.Drop(q.Site, by)
	})
}

func (h *handler) silence(c caller, q api.SiteRequest, silence func(desk.Author) error) (receipt api.SiteReceipt, err error) {
	if err := api.CheckReporter(q.Reporter); err != nil {
		return receipt, badRequest(err)
	}
	name, err := c.reporter(q.Reporter)
	if err != nil {
		return receipt, err
	}
	if receipt.Before, err = h.site(q.Site); err != nil {
		return receipt, err
	}
	if err := silence(desk.Author{Name: name, Origin: c.origin}); err != nil {
		return receipt, err
	}
	if receipt.Now, err = h.site(q.Site); err != nil { // nothing is left of it, not even its name
		receipt.Now = api.Site{Site: q.Site, State: api.StateDropped}
	}
	return receipt, nil
}
