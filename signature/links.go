package signature

import (
	"bytes"
	"slices"
	"strings"
)

const (
	maxDomains = 16   // of a Set
	maxLinks   = 8192 // hosts that are looked at in one message
	maxLinked  = 1024 // different domains that are told apart
	keptHosts  = 256  // of one message, for which the maps are kept for the next one
)

// rank says how surely a link is what the sender wants a reader to follow.
type rank uint8

const (
	clicked rank = iota // a reference of a tag that is clicked; a URL in plain text
	inText              // a URL in the text of a page
	bare                // a host name without a scheme
	loaded              // pictures, styles, what stands in comments
)

// links collects the domains that a message links to.
type links struct {
	found  []linked
	index  map[string]int // by domain: its place in found
	hosts  map[string]int // likewise, by host as it stands; -1 for none
	looked int
	limits Limits
	work   *work
	ours   []string // the recipients'
}

type linked struct {
	domain string
	rank   rank // the best
}

// scan notes the links of one text part, of which the page or plain text is shown.
func (l *links) scan(shown *view) {
	if !shown.isPage {
		l.scanText(withoutListFooter(shown.all.text), clicked)
		return
	}
	for _, r := range shown.refs {
		if l.work.isOver() {
			return
		}
		l.refer(r)
	}
	l.scanText(withoutListFooter(shown.all.text), inText)
}

// addHost notes a link to a host as it stands in the URL.
func (l *links) addHost(raw []byte, r rank) {
	if len(raw) < 3 {
		return
	}
	if l.looked == maxLinks {
		l.limits |= LimitLinks
		return
	}
	l.looked++
	l.work.spend(stepsOfToken + len(raw)/4)
	if l.hosts == nil {
		l.hosts, l.index = make(map[string]int), make(map[string]int)
	}
	i, known := l.hosts[string(raw)]
	if !known {
		l.work.spend(stepsOfName(raw))
		i = l.place(linkDomain(raw))
		l.hosts[string(raw)] = i
	}
	if i >= 0 {
		l.found[i].rank = min(l.found[i].rank, r)
	}
}

// place is a domain's place in found, made where it is new; -1 for none.
func (l *links) place(domain string) int {
	if i, ok := l.index[domain]; ok {
		return i
	}
	if domain == "" || slices.Contains(l.ours, domain) {
		return -1
	}
	if len(l.found) == maxLinked {
		l.limits |= LimitLinks
		return -1
	}
	domain = strings.Clone(domain)
	l.index[domain] = len(l.found)
	l.found = append(l.found, linked{domain, loaded})
	return len(l.found) - 1
}

// domains are the ones that count, in order of first occurrence. Where there are
// too many, those of well-known senders, which say nothing, yield first, then those
// of lower rank; of the last rank that has places left, half of them are for the
// first and half for the last ones. So no row of decoys, before the link that a
// reader shall follow or behind it, pushes that out.
func (l *links) domains() []string {
	keep := l.found
	if len(keep) > maxDomains {
		l.limits |= LimitDomains
		keep = l.choose()
	}
	var names []string
	for _, k := range keep {
		names = append(names, k.domain)
	}
	return names
}

func (l *links) choose() []linked {
	class := func(f linked) int {
		if WellKnown(f.domain) {
			return int(loaded) + 1
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
func (l *links) reset(keep func([]byte) []byte) {
	fresh := links{found: l.found[:0], work: l.work}
	if len(l.hosts) <= keptHosts {
		clear(l.hosts)
		clear(l.index)
		fresh.hosts, fresh.index = l.hosts, l.index
	}
	*l = fresh
}

// domains are the domains that the message links to: first those of the texts that it
// shows as its body; then, carried of them, those of texts that it carries, and those
// beside the HTML part of an alternative, which spam fills with anything. What a mail
// system returned, and what lies far behind, does not count.
// Nor do those of the recipients that the header names: spam writes them into its
// links, and people write about what is theirs.
func (c *computer) domains(header []Field) (domains []string, carried int) {
	c.links.ours = recipientDomains(header)
	c.scanTexts(false)
	own := c.links.domains()
	c.scanTexts(true)
	domains = own
	for _, d := range c.links.domains() {
		if len(domains) < maxDomains && !slices.Contains(own, d) {
			domains = append(domains, d)
		}
	}
	return domains, len(domains) - len(own)
}

// scanTexts notes the links of the texts that the message shows, or of all others.
func (c *computer) scanTexts(others bool) {
	for i := range c.texts {
		t := &c.texts[i]
		source := c.source[t.start:t.end]
		if t.aside || (c.carriageOf(t) != ownPart || c.isReplaced(t)) != others || t.view == nil && !t.isHTML && bytes.IndexByte(source, '.') < 0 {
			continue
		}
		if c.work.isOver() {
			break
		}
		c.links.scan(c.show(t))
	}
}

const (
	maxRecipients     = 16   // whose domains are known
	maxRecipientField = 4096 // bytes of a field that are read
)

// recipientDomains are the domains behind each "@" of the first To and the first Cc.
func recipientDomains(header []Field) []string {
	var domains []string
	for _, name := range []string{"To", "Cc"} {
		i := slices.IndexFunc(header, func(f Field) bool { return f.is(name) })
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

// DomainSignature is the signature of a link's registrable domain.
func DomainSignature(domain string) Signature {
	return Signature{KindDomain, Sum(KindDomain, []byte(domain))}
}
