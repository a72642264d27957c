package links

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/visible"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	maxDomains = 16   // that a message has at most
	maxLinks   = 8192 // hosts of one message that are read
	maxLinked  = 1024 // different domains of one message
	keptHosts  = 256  // hosts of one message, up to which its maps are kept for the next one
)

// Finder finds the domains that a message links to. It is used by one goroutine at a
// time.
type Finder struct {
	found  []linked
	index  map[string]int // by domain: its place in found
	hosts  map[string]int // by host as it stands: its place in found; -1 for none
	looked int
	Limits work.Limits
	work   *work.Steps
	ours   []string // domains of the recipients

	// Recipients are those of ours that the message links to, in order: first the Own ones, in links that readers see.
	Recipients []string
	Own        int
}

type linked struct {
	domain string
	rank   page.Rank // the best
}

// scan records the links of one text part that are its author's own and that readers see,
// or all others. Style sheets, fonts, scripts and pictures that a page loads are no links. Nobody
// clicks them, and innocent pages load them from the same hosts as spam.
func (l *Finder) scan(v *visible.View, others bool) {
	rank := page.Clicked
	if v.IsPage {
		rank = page.InText
		for _, r := range v.References {
			if l.work.IsOver() {
				return
			}
			if r.IsHidden == others && r.Rank != page.Loaded {
				l.refer(r)
			}
		}
	}
	l.scanReading(v.Shown, rank, others)
	if others && len(v.Hidden) > 0 {
		l.scanReading(v.All, rank, false)
	}
}

// scanReading records the links in the text that is its author's own, or in what it quotes.
func (l *Finder) scanReading(r visible.Reading, rank page.Rank, quoted bool) {
	if quoted && len(r.Quotes) == 0 {
		return
	}
	text, own := withoutListFooter(r.Text), 0
	for _, q := range r.Quotes {
		start, end := min(q.Start, len(text)), min(q.End, len(text))
		if q.By != span.ByOther {
			continue
		}
		if quoted {
			l.scanText(text[start:end], rank)
		} else {
			l.scanText(text[own:start], rank)
		}
		own = end
	}
	if !quoted {
		l.scanText(text[own:], rank)
	}
}

// addHost records a link to a host as it stands in the URL.
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

// place returns the place of a domain in found, where it is added if it is new; -1 if it
// does not count.
func (l *Finder) place(domain string) int {
	if i, ok := l.index[domain]; ok {
		return i
	}
	if slices.Contains(l.ours, domain) {
		if !slices.Contains(l.Recipients, domain) {
			l.Recipients = append(l.Recipients, strings.Clone(domain))
		}
		return -1
	}
	if domain == "" {
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

// chosen returns the domains that count, in order of first occurrence. If there are too
// many, those of well-known senders, which are no evidence, are dropped first, then those
// of lower rank. In the last rank with places left, half of them are for the first
// domains and half for the last ones. So no row of decoys, before or behind the link that
// a reader should follow, pushes that link out.
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

// Reset empties l for the next message.
func (l *Finder) Reset() {
	fresh := Finder{found: l.found[:0]}
	if len(l.hosts) <= keptHosts {
		clear(l.hosts)
		clear(l.index)
		fresh.hosts, fresh.index = l.hosts, l.index
	}
	*l = fresh
}

// Domains returns the domains that a message links to. First are those of links that
// readers see in the texts that it shows as its body. Then follow carried others, where
// spam may write anything: those of hidden links, of texts that it quotes or carries, and
// those beside the HTML part of an alternative. Texts that a mail system returned, or far behind
// the header, do not count. The domains of the recipients in the header do not count
// either: spam writes them into its links, and people write about their own. They are in Recipients.
func (l *Finder) Domains(t *visible.Texts, header []mail.Field, w *work.Steps) (domains []string, carried int) {
	l.work = w
	l.ours = recipientDomains(header)
	l.scanTexts(t, false)
	own := l.chosen()
	l.Own = len(l.Recipients)
	l.scanTexts(t, true)
	domains = own
	for _, d := range l.chosen() {
		if len(domains) < maxDomains && !slices.Contains(own, d) {
			domains = append(domains, d)
		}
	}
	return domains, len(domains) - len(own)
}

// scanTexts records the links that the message shows, or all others.
func (l *Finder) scanTexts(t *visible.Texts, others bool) {
	l.work.Renew()
	for i := range t.Parts {
		p := &t.Parts[i]
		isOwn := t.CarriageOf(p) == mail.OwnPart && !t.IsReplaced(p)
		if p.IsAside || !isOwn && !others {
			continue
		}
		if p.View == nil && !p.IsHTML && bytes.IndexByte(t.SourceOf(p), '.') < 0 {
			continue
		}
		if l.work.IsOver() {
			break
		}
		v := t.Show(p)
		if isOwn != others {
			l.scan(v, false)
		}
		if others {
			l.scan(v, true)
		}
	}
}

const (
	maxRecipients     = 16   // whose domains are known
	maxRecipientField = 4096 // bytes of a field that are read
)

// recipientDomains returns the domains behind each "@" of the first To and the first Cc.
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
