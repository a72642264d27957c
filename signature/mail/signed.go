package mail

import (
	"bytes"
	"math"
)

// isSigned reports whether a part may be opaque-signed mail (RFC 8551 section 3.5.2): mail programs
// show what is inside.
func isSigned(h mimeHeader) bool {
	return h.MediaType == "application/pkcs7-mime" || h.MediaType == "application/x-pkcs7-mime"
}

// idData is the type of signed mail in CMS (RFC 5652 section 4), an encoded object identifier. The
// content follows it.
var idData = []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01}

// Tags of BER.
const (
	tagOctets  = 0x04 // OCTET STRING
	tagPieces  = 0x24 // OCTET STRING, constructed of others
	tagContent = 0xa0 // [0], constructed
	tagEnd     = 0x00 // end of an indefinite length
	lengthOpen = 0x80 // indefinite
)

// signedContent returns the mail inside signed data, or nothing. The signature is not verified: programs
// show the mail anyway. If the structure is damaged, the first content of the type of mail counts.
// Otherwise it must not, as an unknown algorithm can have another such content as its parameters.
func signedContent(data []byte) (content []byte) {
	if content, _ = octets(contentIn(data)); content != nil {
		return content
	}
	for content == nil {
		at := bytes.Index(data, idData)
		if at < 0 {
			return nil
		}
		data = data[at+len(idData):]
		if tag, _, inside, ok := berHead(data); ok && tag == tagContent {
			content, data = octets(inside) // goes on behind what was read, so that nothing is read twice
		}
	}
	return content
}

// pathToContent leads to the content of signed data (RFC 5652 sections 3 and 5): "(" is for what is inside
// of the next value, and "." for what follows that.
const pathToContent = "(" + // ContentInfo
	"." + "((" + // contentType, content, SignedData
	".." + "(" + // version, digestAlgorithms, encapContentInfo
	"." + "(" // eContentType, eContent

// contentIn returns what begins with the content of signed data, or nothing.
func contentIn(data []byte) []byte {
	for _, step := range pathToContent {
		_, length, inside, ok := berHead(data)
		switch {
		case !ok:
			return nil
		case step == '(':
			data = inside
		case length < 0:
			data = behindOpen(inside)
		default:
			data = inside[min(length, len(inside)):]
		}
	}
	return data
}

// behindOpen returns what follows a value of indefinite length.
func behindOpen(data []byte) []byte {
	for depth := 1; depth > 0; {
		_, length, inside, ok := berHead(data)
		switch {
		case ok && length < 0:
			depth++
			data = inside
		case ok:
			data = inside[min(length, len(inside)):]
		case len(data) < 2 || data[0] != tagEnd:
			return nil
		default:
			depth--
			data = data[2:]
		}
	}
	return data
}

// octets returns the content of an octet string, and of all pieces that follow each other in a
// constructed one, and what follows that.
func octets(data []byte) (content, rest []byte) {
	for isConstructed := false; ; {
		tag, length, inside, ok := berHead(data)
		switch {
		case ok && tag == tagPieces:
			isConstructed, data = true, inside
			continue
		case !ok || tag != tagOctets:
			return content, data
		}
		n := min(max(length, 0), len(inside))
		if !isConstructed {
			return inside[:n], inside[n:]
		}
		if content == nil && n > 0 {
			content = make([]byte, 0, len(data))
		}
		content, data = append(content, inside[:n]...), inside[n:]
	}
}

// berHead reads tag and length, -1 if that is indefinite, and returns what follows them.
func berHead(data []byte) (tag byte, length int, inside []byte, ok bool) {
	if len(data) < 2 || data[0] == tagEnd {
		return 0, 0, nil, false
	}
	tag, length, inside = data[0], int(data[1]), data[2:]
	switch {
	case length == lengthOpen:
		length = -1
	case length > lengthOpen:
		n := length &^ lengthOpen
		if len(inside) < n {
			return 0, 0, nil, false
		}
		length = 0
		for _, c := range inside[:n] {
			length = min(length<<8|int(c), math.MaxInt32)
		}
		inside = inside[n:]
	}
	return tag, length, inside, true
}
