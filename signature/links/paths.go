package links

import (
	"bytes"
	"hash/fnv"
	"html"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	maxPathed   = 256 // references of a page whose path is read
	maxPaths    = 16  // paths of pictures, and of links, that are kept
	maxPath     = 512 // bytes of a path that are read
	leastPath   = 5   // letters that a path needs, besides those of common names
	longSegment = 16  // bytes from which on a segment with digits is an identifier
)

// Paths are what the URLs of a page have in common in all copies of a campaign, whose hosts
// and recipients change: the paths without what varies.
type Paths struct {
	Pictures []string // of remote pictures
	Links    []string
}

// PathsOf returns the paths of a page's pictures and links, in order, each once. Redirectors
// are unwrapped. Tracking pixels, icons and the like have none, and neither have pages
// of large senders, whose pictures others copy.
func PathsOf(references []page.Reference, w *work.Steps) (p Paths) {
	read := 0
	for _, r := range references {
		isLink := r.Rank == page.Clicked && !r.IsText
		if !isLink && !r.IsPicture {
			continue
		}
		if read++; read > maxPathed || w.IsOver() {
			break
		}
		path := pathOf(r.Value, w)
		if r.IsGone && path != "" { // it may be another's: it differs from a path that is shown
			path = "hidden " + path
		}
		switch {
		case path == "":
		case isLink && len(p.Links) < maxPaths && !slices.Contains(p.Links, path):
			p.Links = append(p.Links, path)
		case !isLink && len(p.Pictures) < maxPaths && !slices.Contains(p.Pictures, path):
			p.Pictures = append(p.Pictures, path)
		}
	}
	return p
}

// SenderOf returns a hash of the registrable domain in From, or of its absence.
func SenderOf(header []mail.Field) uint64 {
	h := fnv.New64a()
	h.Write([]byte(SenderDomain(header))) // never fails
	return h.Sum64()
}

// SenderDomain returns the registrable domain in From, or "".
func SenderDomain(header []mail.Field) string {
	from := mail.Value(header, "From")
	from = from[:min(len(from), maxRecipientField)]
	from = from[strings.LastIndexByte(from, '@')+1:]
	end := strings.IndexFunc(from, func(r rune) bool { return r <= ' ' || strings.ContainsRune(">,;)\"'", r) })
	if end >= 0 {
		from = from[:end]
	}
	return linkDomain([]byte(from))
}

// pathOf returns the path of a URL, or "" if it says too little.
func pathOf(value []byte, w *work.Steps) string {
	value = bytes.TrimSpace(value[:min(len(value), maxURL)])
	w.Spend(work.PerHost + 4*len(value))
	if bytes.ContainsAny(value, "\r\n\t") {
		value = bytes.Join(bytes.FieldsFunc(value, func(r rune) bool { return r == '\r' || r == '\n' || r == '\t' }), nil)
	}
	if !ascii.HasPrefixFold(value, "http") {
		return ""
	}
	if bytes.IndexByte(value, '&') >= 0 {
		value = []byte(html.UnescapeString(string(value)))
	}
	url := unwrapped(value)
	host, rest := cutAuthority(trimSlashes(url))
	domain := linkDomain(host)
	if path, isPublic := publicPath(domain, host, rest); isPublic {
		return path
	}
	if domain == "" || WellKnown(domain) {
		return ""
	}
	return commonPath(rest)
}

// unwrapped returns the URL, without its scheme, to which the redirectors of a URL go on.
func unwrapped(value []byte) []byte {
	url := value[bytes.IndexByte(value, ':')+1:]
	for range maxNested {
		_, rest := cutAuthority(trimSlashes(url))
		inner := innerURL(rest)
		if inner == nil {
			break
		}
		url = inner
	}
	return url
}

// innerURL returns a URL in a path, or in a parameter of a query, without its scheme.
func innerURL(rest []byte) []byte {
	if q := bytes.IndexByte(rest, '?'); q >= 0 {
		for param := range bytes.SplitSeq(rest[q+1:], []byte("&")) {
			if _, v, ok := bytes.Cut(param, []byte("=")); ok {
				if inner := nextURL(v); inner != nil {
					return inner
				}
			}
		}
		rest = rest[:q]
	}
	inner := nextURL(rest)
	if end := bytes.Index(inner, []byte("__;")); end >= 0 { // urldefense
		inner = inner[:end]
	}
	return inner
}

// publicPath returns the whole path with its domain if anyone can have pages or pictures
// there. Such a path names one page.
func publicPath(domain string, host, rest []byte) (path string, ok bool) {
	if !publicHosts[domain] {
		return "", false
	}
	end := bytes.IndexAny(rest, "?#")
	if end < 0 {
		end = len(rest)
	}
	if rest = rest[:min(end, maxPath)]; len(rest) < 5 {
		return "", true
	}
	return strings.ToLower(string(host)) + string(rest), true
}

// commonPath returns a path without what varies between recipients: numbers, identifiers
// and the values of a query. It is "" if little is left.
func commonPath(rest []byte) string {
	rest = rest[:min(len(rest), maxPath)]
	if end := bytes.IndexByte(rest, '#'); end >= 0 {
		rest = rest[:end]
	}
	path, query, _ := bytes.Cut(rest, []byte("?"))
	var out []byte
	letters := 0
	for segment := range bytes.SplitSeq(path, []byte("/")) {
		if len(segment) == 0 {
			continue
		}
		out = append(out, '/')
		if isIdentifier(segment) {
			out = append(out, '*')
			continue
		}
		from := len(out)
		out = appendWithoutNumbers(out, segment)
		letters += lettersOf(out[from:])
	}
	for param := range bytes.SplitSeq(query, []byte("&")) {
		name, _, hasValue := bytes.Cut(param, []byte("="))
		if hasValue && len(name) > 0 && len(name) < longSegment && !isIdentifier(name) {
			out = append(out, '?')
			out = appendWithoutNumbers(out, name)
		}
	}
	if letters < leastPath {
		return ""
	}
	return string(out)
}

// isIdentifier reports whether a segment was made for one recipient, or by a program: it is
// long and has digits, or is one of its few long words without vowels.
func isIdentifier(segment []byte) bool {
	digits, letters, vowels := 0, 0, 0
	for _, c := range segment {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case ascii.IsLetter(c):
			letters++
			if strings.IndexByte("aeiouyAEIOUY", c) >= 0 {
				vowels++
			}
		}
	}
	return len(segment) >= longSegment && digits > 2 || digits > 3 && letters > 3 || letters >= 6 && vowels == 0 ||
		len(segment) >= 2*longSegment && !bytes.ContainsAny(segment, "-_.")
}

// appendWithoutNumbers appends text in lower case with "#" for each number.
func appendWithoutNumbers(dst, text []byte) []byte {
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			if len(dst) == 0 || dst[len(dst)-1] != '#' {
				dst = append(dst, '#')
			}
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c|0x20)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// lettersOf counts the letters of a segment, without words that many sites use.
func lettersOf(segment []byte) int {
	n := 0
	for word := range bytes.FieldsFuncSeq(segment, func(r rune) bool { return r < 'a' || 'z' < r }) {
		if !commonNames[string(word)] {
			n += len(word)
		}
	}
	return n
}

// commonNames are words in the paths of very many sites.
var commonNames = namesOf(`images image img imgs pics pictures picture photo photos gfx graphics assets asset static media files file
	uploads upload content contents wp includes themes theme templates template email emails mail mails mailing newsletter newsletters
	news letter campaign campaigns logo logos header head footer foot banner banners spacer pixel blank clear trans transparent
	dot line shadow corner left right top bottom middle center bg background border button buttons btn icon icons ico social facebook
	twitter linkedin instagram youtube pinterest google plus play appstore store app apple android rss share unsubscribe unsub optout
	subscribe preferences profile view online browser web webversion index default home main html htm php asp aspx jsp cgi bin cfm do
	gif jpg jpeg png webp svg bmp open track tracking tracker click clicks redirect redir link links url go out site sites public
	user users account accounts login signin en us uk de fr es com net org www http https the and for new data img download downloads
	contact about terms privacy policy help support faq search list lists pipermail listinfo mailman archive archives`)

// publicHosts are domains where anyone can have a page or picture, or a short link.
var publicHosts = namesOf(`imgur.com imageshack.us photobucket.com postimg.cc postimg.org ibb.co tinypic.com flickr.com staticflickr.com
	googleusercontent.com giphy.com cloudinary.com bit.ly bitly.com tinyurl.com ow.ly is.gd v.gd buff.ly rebrand.ly cutt.ly shorturl.at
	tiny.cc t.ly rb.gy adf.ly bl.ink t.co goo.gl lnkd.in s.id snip.ly tr.im snurl.com snipurl.com urlz.fr linktr.ee forms.gle
	jotform.com typeform.com formstack.com dropbox.com wetransfer.com we.tl mediafire.com 4shared.com sendspace.com
	geocities.com tripod.com angelfire.com weebly.com`)

func namesOf(list string) map[string]bool {
	m := make(map[string]bool)
	for name := range strings.FieldsSeq(list) {
		m[name] = true
	}
	return m
}
