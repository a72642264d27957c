package variation

// aims, in percent.
const (
	aim         = 98
	aimHidden   = 99 // what the best peer reaches
	aimHeavy    = 80 // 60 % of the letters replaced
	aimTemplate = 60
	aimSwapped  = 85
	aimPadded   = 90
	aimPart     = 90 // where whole parts are gone or apart; our own, no peer was measured
)

// near is what the best peers have in each of the rows that leave the text alone.
const near = "98-100"

// Kinds lists all kinds, in the order of the table.
func Kinds() []Kind {
	var list []Kind
	for _, group := range [][]Kind{codingKinds(), markupKinds(), linkKinds(), smallKinds(), wordKinds(), letterKinds(), orderKinds(), largeKinds(), fileKinds(), pageKinds()} {
		list = append(list, group...)
	}
	return list
}

func codingKinds() []Kind {
	return []Kind{
		{Name: "rewrapped", About: "lines broken at another width", Peer: near, Aim: aim, Same: true, vary: rewrap},
		{Name: "base64", About: "text parts recoded as base64", Peer: near, Aim: aim, Same: true, vary: recode("base64")},
		{Name: "quoted-printable", About: "text parts recoded as quoted-printable", Peer: near, Aim: aim, Same: true, vary: recode("quoted-printable")},
		{Name: "8bit", About: "text parts recoded as 8bit", Peer: near, Aim: aim, Same: true, vary: recode("8bit")},
		{Name: "charset-utf8", About: "text parts in UTF-8, or in Windows-1252 where they are in UTF-8", Peer: near, Aim: aim, Same: true, vary: recharset("utf-8", "windows-1252")},
		{Name: "charset-utf16", About: "text parts in UTF-16, big endian", Peer: near, Aim: aim, Same: true, vary: recharset("utf-16be", "utf-16be")},
		{Name: "boundary", About: "other boundaries; a single part is wrapped in a multipart", Peer: near, Aim: aim, Same: true, vary: reboundary},
		{Name: "parts", About: "the text split over several parts", Aim: aim, vary: splitParts},
		{Name: "alternative", About: "an alternative part with another, short plain text added", Aim: aim, vary: addAlternative},
		{Name: "attachment", About: "a random attachment added", Peer: near, Aim: aim, Same: true, vary: addAttachment},
		{Name: "image", About: "a random image added", Peer: near, Aim: aim, Same: true, vary: addImage},
	}
}

func markupKinds() []Kind {
	return []Kind{
		{Name: "html-attributes", About: "random attributes in the HTML elements", Peer: near, Aim: aim, Same: true, vary: changeAttributes},
		{Name: "html-comments", About: "HTML comments in the middle of words", Peer: near, Aim: aim, Same: true, vary: insertComments},
		{Name: "html-to-plain", About: "HTML sent as plain text", Peer: "94-99", Aim: aim, vary: toPlain},
		{Name: "plain-to-html", About: "plain text sent as HTML", Peer: "94-99", Aim: aim, Same: true, vary: toHTML},
		{Name: "hidden-display", About: "hidden words added: display:none", Peer: "99", Aim: aimHidden, Same: true, vary: hide(`<div style="display:none">`, `</div>`, "")},
		{Name: "hidden-white", About: "hidden words added: white on white", Peer: "99", Aim: aimHidden, vary: hide(`<p style="color:#ffffff;background-color:#ffffff">`, `</p>`, "")},
		{Name: "hidden-class", About: "hidden words added: a class of a style sheet", Peer: "99", Aim: aimHidden, vary: hide(`<span class="qx7">`, `</span>`, `<style>.qx7 { display: none }</style>`)},
		{Name: "hidden-size", About: "hidden words added: letters of size 0", Peer: "99", Aim: aimHidden, Same: true, vary: hide(`<span style="font-size:0px">`, `</span>`, "")},
	}
}

func linkKinds() []Kind {
	return []Kind{
		{Name: "link-path", About: "another path and query in every link", Peer: near, Aim: aim, vary: changePaths},
		{Name: "link-host", About: "another host in every link", Peer: near, Aim: aim, vary: changeHosts},
	}
}

func smallKinds() []Kind {
	return []Kind{
		{Name: "subject", About: "another subject", Aim: aim, Same: true, vary: changeSubject},
		{Name: "token", About: "a random token in the subject and at the end of the text", Peer: near, Aim: aim, vary: addToken},
		{Name: "token-many", About: "random tokens on lines of their own throughout the text", Aim: aim, vary: addTokens},
		{Name: "digits", About: "every digit changed", Peer: "98", Aim: aim, vary: changeDigits},
		{Name: "footer", About: "a mailing list's footer added", Peer: "98", Aim: aim, vary: addFooter},
		{Name: "salutation", About: "a personal salutation, and the name twice in the text", Peer: "95", Aim: aim, vary: salute},
		{Name: "line-numbers", About: "a number before every line", Aim: aim, vary: numberLines},
		{Name: "forwarded", About: "forwarded inline, quoted with >: noted, for the words are another author's", vary: forward},
	}
}

func wordKinds() []Kind {
	return []Kind{
		{Name: "swapped", About: "5 % of the words swapped for others", Peer: "97", Aim: aim, vary: swapWords(0.05)},
		{Name: "swapped-many", About: "9 % of the words swapped for others", Peer: "75", Aim: aimSwapped, vary: swapWords(0.09)},
		{Name: "swapped-heavy", About: "25 % of the words swapped for others", vary: swapWords(0.25)},
		{Name: "interspersed", About: "a random word after every word", vary: intersperse(1, 1)},
		{Name: "interspersed-some", About: "none to two random words after every word", vary: intersperse(0, 2)},
		{Name: "interspersed-many", About: "one to three random words after every word", vary: intersperse(1, 3)},
		{Name: "typos", About: "a letter left out, doubled or exchanged in 5 % of the words", Aim: aim, vary: mistype},
		{Name: "spaces", About: "blanks doubled, and 3 % of them removed", Aim: aim, vary: changeSpaces},
		{Name: "joined", About: "5 % of the words joined to the next by a hyphen, 5 % split by one", Aim: aim, vary: joinWords},
		{Name: "appended", About: "20 to 50 random words appended", Peer: "90", Aim: aim, vary: addWords(false)},
		{Name: "prepended", About: "20 to 50 random words prepended", Peer: "96", Aim: aim, vary: addWords(true)},
	}
}

func letterKinds() []Kind {
	return []Kind{
		{Name: "zero-width", About: "zero-width characters in a third of the words", Peer: near, Aim: aim, Same: true, vary: insertZeroWidth},
		{Name: "case", About: "a third of the words in capitals", Aim: aim, Same: true, vary: changeCase},
		{Name: "accents", About: "accents on 30 % of the vowels", Aim: aim, vary: addAccents},
		{Name: "leet", About: "half of the letters that have a leet sign written as such", Peer: "95", Aim: aim, vary: leet},
		{Name: "look-alikes", About: "20 % of the letters replaced by look-alikes", Peer: "64", Aim: aim, vary: lookAlikes(0.20)},
		{Name: "look-alikes-heavy", About: "60 % of the letters replaced by look-alikes", Peer: "25", Aim: aimHeavy, vary: lookAlikes(0.60)},
	}
}

func orderKinds() []Kind {
	return []Kind{
		{Name: "paragraphs", About: "the paragraphs in another order", Peer: "96", Aim: aim, vary: shuffleParagraphs},
		{Name: "sentences", About: "the sentences in another order", Aim: aimPart, vary: shuffleSentences},
	}
}

func largeKinds() []Kind {
	return []Kind{
		{Name: "template", About: "campaign template: sentences with 18 % of the words in other wordings", Peer: "81", Aim: aim, vary: template(0.18)},
		{Name: "template-hard", About: "campaign template: sentences with 33 % of the words in other wordings", Peer: "21", Aim: aimTemplate, vary: template(0.33)},
		{Name: "template-heavy", About: "campaign template: sentences with 50 % of the words in other wordings", vary: template(0.50)},
		{Name: "padded-after", About: "a page of innocent text after it", Peer: "69", Aim: aimPadded, vary: pad(false)},
		{Name: "padded-before", About: "a page of innocent text before it", Peer: "69", Aim: aimPadded, vary: pad(true)},
		{Name: "truncated", About: "only the first 60 % of the text", Aim: aimPart, vary: truncate},
		{Name: "two-joined", About: "another spam's text after it", Aim: aimPadded, vary: joinMails},
	}
}

func fileKinds() []Kind {
	return []Kind{
		{Name: "picture-jpeg", About: "the text as a picture: PNG reported, JPEG of quality 40 to 90 seen", Aim: aim, base: asPicture, vary: repaint(asJPEG)},
		{Name: "picture-noise", About: "the text as a picture: noise and random dots", Aim: aim, base: asPicture, vary: repaint(noisy)},
		{Name: "picture-scaled", About: "the text as a picture: scaled to 70 to 140 %", Aim: aim, base: asPicture, vary: repaint(scaled)},
		{Name: "zip-repacked", About: "a short text with a zip archive: packed again with other names and times", Aim: aim, base: withZip, vary: repack},
		{Name: "pdf-metadata", About: "a short text with a PDF: other metadata and identifiers", Aim: aim, base: withPDF, vary: relabel},
	}
}

// Find returns the kind with that name.
func Find(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
