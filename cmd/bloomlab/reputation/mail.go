package reputation

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The mail of a site. Reach is the share of the users that receive a copy. It is
// log-uniform between two bounds, like campaigns and newsletters: many small ones, few
// large ones. So a user receives the same amount at a site of any size, but a mail has
// more copies at a larger site.
const (
	campaignsADay = 15
	lists         = 60 // newsletters, a weekly issue each
	templates     = 12 // wanted mail with an unchanging text: login codes, parcels
	copiesADay    = 20 // of each template, for 1,000 users
	groupsADay    = 60 // wanted mail among 2 to 8 users, likewise

	leastReach   = 0.005
	mostSpam     = 0.30
	mostIssue    = 0.20
	issueHours   = 6.0
	meanCampaign = 18.0 // hours until a copy is sent, exponential
)

// Half of the campaigns have equal copies. Some vary in a way that sketches recognise,
// so that a report of one copy lists all. The others have variants with nothing in common.
const (
	similarShare = 0.3
	variedShare  = 0.2
	variants     = 6
)

const hoursADay = 24.0

// key stands for a signature.
type key uint64

// message is the common content of all copies of a mail, or of one variant.
type message struct {
	keys []key
	spam bool
}

// delivery is one copy for one user.
type delivery struct {
	at  float64 // hours since the beginning
	to  int
	msg *message
}

// target is a mail that liars can choose on its day.
type target struct {
	at    float64 // of the first copy
	reach int     // users that receive it that day
	msg   *message
}

// traffic is all mail of a world. It does not depend on the listings.
type traffic struct {
	deliveries []delivery // by time
	wanted     [][]target // by day: mail to many users
	spam       [][]target
}

// postman draws traffic.
type postman struct {
	r       *rand.Rand
	users   int
	days    int
	last    key
	traffic traffic
	order   []int // scratch: a permutation of the users
}

func newTraffic(r *rand.Rand, users, days int) traffic {
	p := &postman{r: r, users: users, days: days, order: make([]int, users)}
	p.traffic.wanted, p.traffic.spam = make([][]target, days), make([][]target, days)
	for i := range p.order {
		p.order[i] = i
	}
	for range lists {
		p.newsletter()
	}
	for range templates {
		p.template()
	}
	for day := range days {
		for range campaignsADay {
			p.campaign(day)
		}
		for range p.share(groupsADay) {
			p.group(day)
		}
	}
	slices.SortStableFunc(p.traffic.deliveries, func(a, b delivery) int { return cmp.Compare(a.at, b.at) })
	return p.traffic
}

func (p *postman) key() key {
	p.last++
	return p.last
}

// readers draws n distinct users. The result is valid until the next call.
func (p *postman) readers(n int) []int {
	n = min(n, p.users)
	for i := range n {
		j := i + p.r.IntN(p.users-i)
		p.order[i], p.order[j] = p.order[j], p.order[i]
	}
	return p.order[:n]
}

// reach draws a number of users, at least 2.
func (p *postman) reach(most float64) int {
	share := leastReach * math.Exp(p.r.Float64()*math.Log(most/leastReach))
	return max(2, int(share*float64(p.users)))
}

// share scales a number for 1,000 users to the site, at least 1.
func (p *postman) share(perThousand int) int { return max(1, perThousand*p.users/1000) }

func (p *postman) deliver(at float64, to int, m *message) {
	if at < float64(p.days)*hoursADay {
		p.traffic.deliveries = append(p.traffic.deliveries, delivery{at, to, m})
	}
}

// newsletter draws issues with the same readers, on the same day of the week.
func (p *postman) newsletter() {
	readers := slices.Clone(p.readers(p.reach(mostIssue)))
	for day := p.r.IntN(7); day < p.days; day += 7 {
		m := &message{keys: []key{p.key()}}
		at := float64(day)*hoursADay + p.r.Float64()*(hoursADay-issueHours)
		for _, to := range readers {
			p.deliver(at+p.r.Float64()*issueHours, to, m)
		}
		p.traffic.wanted[day] = append(p.traffic.wanted[day], target{at, len(readers), m})
	}
}

func (p *postman) template() {
	m := &message{keys: []key{p.key()}}
	n := p.share(copiesADay)
	for day := range p.days {
		at := float64(day) * hoursADay
		for _, to := range p.readers(n) {
			p.deliver(at+p.r.Float64()*hoursADay, to, m)
		}
		p.traffic.wanted[day] = append(p.traffic.wanted[day], target{at, n, m})
	}
}

func (p *postman) group(day int) {
	m := &message{keys: []key{p.key()}}
	at := (float64(day) + p.r.Float64()) * hoursADay
	for _, to := range p.readers(2 + p.r.IntN(7)) {
		p.deliver(at, to, m)
	}
}

func (p *postman) campaign(day int) {
	at := (float64(day) + p.r.Float64()) * hoursADay
	copyOf := p.copies()
	readers := p.readers(p.reach(mostSpam))
	var first *message
	for _, to := range readers {
		m := copyOf()
		if first == nil {
			first = m
		}
		p.deliver(at+p.r.ExpFloat64()*meanCampaign, to, m)
	}
	p.traffic.spam[day] = append(p.traffic.spam[day], target{at, len(readers), first})
}

// copies returns a function that draws the message of each copy of a new campaign.
func (p *postman) copies() func() *message {
	switch u := p.r.Float64(); {
	case u < variedShare:
		var all []*message
		for range variants {
			all = append(all, &message{keys: []key{p.key()}, spam: true})
		}
		return func() *message { return all[p.r.IntN(variants)] }
	case u < variedShare+similarShare:
		sketch := p.key()
		return func() *message { return &message{keys: []key{p.key(), sketch}, spam: true} }
	}
	m := &message{keys: []key{p.key()}, spam: true}
	return func() *message { return m }
}
