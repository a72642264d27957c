package links

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/visible"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	maxDomains = 16   // of a Set
	maxLinks   = 8192 // hosts that are looked at in one message
	maxLinked  = 1024 // different domains that are told apart
	keptHosts  = 256  // of one message, for which the maps are kept for the next one
)

// links collects the domains that a message links to.
type Finder struct {
	found  []linked
	index  map[string]int // by domain: its place in found
	hosts  map[string]int // likewise, by host as it stands; -1 for none
	looked int
	Limits work.Limits
	work   *work.Steps
	ours   []string // the recipients'
}

type linked struct {
	domain string
	rank   page.Rank // the best
}

// scan notes the links of one text part, of which the page or plain text is shown.
func (l *Finder) scan(v *visible.View) {
	if !v.IsPage {
		l.scanText(withoutListFooter(v.All.Text), page.Clicked)
		return
	}
	for _, r := range v.References {
		if l.work.IsOver() {
			return
		}
		l.refer(r)
	}
	l.scanText(withoutListFooter(v.All.Text), page.InText)
}

// addHost notes a link to a host as it stands in the URL.
func (l *Finder) addHost(raw []byte, r page.Rank) {
	if len(raw) < 3 {
		return
	}
	if l.looked == maxLinks {
		l.Limits |= work.LimitLinks
		return
	}
	l.looked++
	l.work.Spend(work.PerToken + len(raw)/4)
	if l.hosts == nil {
		l.hosts, l.index = make(map[string]int), make(map[string]int)
	}
	i, known := l.hosts[string(raw)]
	if !known {
		l.work.Spend(stepsOfName(raw))
		i = l.place(linkDomain(raw))
		l.hosts[string(raw)] = i
	}
	if i >= 0 {
		l.found[i].rank = min(l.found[i].rank, r)
	}
}

// place is a domain's place in found, made where it is new; -1 for none.
func (l *Finder) place(domain string) int {
	if i, ok := l.index[domain]; ok {
		return i
	}
	if domain == "" || slices.Contains(l.ours, domain) {
		return -1
	}
	if len(l.found) == maxLinked {
		l.Limits |= work.LimitLinks
		return -1
	}
	domain = strings.Clone(domain)
	l.index[domain] = len(l.found)
	l.found = append(l.found, linked{domain, page.Loaded})
	return len(l.found) - 1
}

// domains are the ones that count, in order of first occurrence. Where there are
// too many, those of well-known senders, which say nothing, yield first, then those
// of lower rank; of the last rank that has places left, half of them are for the
// first and half for the last ones. So no row of decoys, before the link that a
// reader shall follow or behind it, pushes that out.
func (l *Finder) chosen() []string {
	keep := l.found
	if len(keep) > maxDomains {
		l.Limits |= work.LimitDomains
		keep = l.choose()
	}
	var names []string
	for _, k := range keep {
		names = append(names, k.domain)
	}
	return names
}

func (l *Finder) choose() []linked {
	class := func(f linked) int {
		if WellKnown(f.domain) {
			return int(page.Loaded) + 1
		}
		return int(f.rank)
	}
	var chosen []int
	for c := 0; len(chosen) < maxDomains; c++ {
		var of []int
		for i, f := range l.found {
			if class(f) == c {
				of = append(of, i)
			}
		}
		if room := maxDomains - len(chosen); len(of) > room {
			of = append(of[:room-room/2], of[len(of)-room/2:]...)
		}
		chosen = append(chosen, of...)
	}
	slices.Sort(chosen)
	keep := make([]linked, len(chosen))
	for i, at := range chosen {
		keep[i] = l.found[at]
	}
	return keep
}

// reset empties l for the next message.
func (l *Finder) Reset() {
	fresh := Finder{found: l.found[:0]}
	if len(l.hosts) <= keptHosts {
		clear(l.hosts)
		clear(l.index)
		fresh.hosts, fresh.index = l.hosts, l.index
	}
	*l = fresh
}

// of returns the domains that a message links to. First come those of the texts that it
// shows as its body; then, carried of them, those of texts that it carries, and those
// beside the HTML part of an alternative, where spam may write anything. Texts that a mail
// system returned, or far behind the header, do not count. The domains of the recipients in
// the header do not count either: spam writes them into its links, and people write about
// their own.
func (l *Finder) Domains(t *visible.Texts, header []mail.Field, w *work.Steps) (domains []string, carried int) {
	l.work = w
	l.ours = recipientDomains(header)
	l.scanTexts(t, false)
	own := l.chosen()
	l.scanTexts(t, true)
	domains = own
	for _, d := range l.chosen() {
		if len(domains) < maxDomains && !slices.Contains(own, d) {
			domains = append(domains, d)
		}
	}
	return domains, len(domains) - len(own)
}

// scanTexts records the links of the texts that the message shows, or of all others.
func (l *Finder) scanTexts(t *visible.Texts, others bool) {
	for i := range t.Parts {
		p := &t.Parts[i]
		if p.IsAside || (t.CarriageOf(p) != mail.OwnPart || t.IsReplaced(p)) != others {
			continue
		}
		if p.View == nil && !p.IsHTML && bytes.IndexByte(t.SourceOf(p), '.') < 0 {
			continue
		}
		if l.work.IsOver() {
			break
		}
		l.scan(t.Show(p))
	}
}

const (
	maxRecipients     = 16   // whose domains are known
	maxRecipientField = 4096 // bytes of a field that are read
)

// recipientDomains are the domains behind each "@" of the first To and the first Cc.
func recipientDomains(header []mail.Field) []string {
	var domains []string
	for _, name := range []string{"To", "Cc"} {
		i := slices.IndexFunc(header, func(f mail.Field) bool { return f.Is(name) })
		if i < 0 {
			continue
		}
		value := header[i].Value[:min(len(header[i].Value), maxRecipientField)]
		for len(domains) < maxRecipients {
			_, rest, found := strings.Cut(value, "@")
			if !found {
				break
			}
			end := strings.IndexAny(rest, " \t\r\n,;>)\"")
			if end < 0 {
				end = len(rest)
			}
			if d := linkDomain([]byte(rest[:end])); d != "" && !slices.Contains(domains, d) {
				domains = append(domains, d)
			}
			value = rest[end:]
		}
	}
	return domains
}
