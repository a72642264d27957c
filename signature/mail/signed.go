package mail

import "bytes"

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
	tagOctets      = 0x04 // OCTET STRING
	tagPieces      = 0x24 // OCTET STRING, constructed of others
	tagContent     = 0xa0 // [0], constructed
	tagEnd         = 0x00 // end of an indefinite length
	lengthOpen     = 0x80 // indefinite
	maxLengthBytes = 4
)

// signedContent returns the mail inside signed data, or nothing. The signature is not verified, and
// neither is all else in front of the content: programs show it anyway.
func signedContent(data []byte) (content []byte) {
	for content == nil {
		at := bytes.Index(data, idData)
		if at < 0 {
			return nil
		}
		data = data[at+len(idData):]
		if tag, inside, ok := berHead(data); ok && tag == tagContent {
			content = octets(inside)
		}
	}
	return content
}

// octets returns the content of an octet string, and of all pieces that follow each other in a
// constructed one.
func octets(data []byte) (content []byte) {
	for isConstructed := false; ; {
		tag, inside, ok := berHead(data)
		switch {
		case ok && tag == tagPieces:
			isConstructed, data = true, inside
			continue
		case !ok || tag != tagOctets:
			return content
		}
		n := min(berLength(data), len(inside))
		if !isConstructed {
			return inside[:n]
		}
		content, data = append(content, inside[:n]...), inside[n:]
	}
}

// berHead reads tag and length, and returns what follows them.
func berHead(data []byte) (tag byte, inside []byte, ok bool) {
	if len(data) < 2 || data[0] == tagEnd {
		return 0, nil, false
	}
	n := 0
	if data[1] > lengthOpen {
		n = int(data[1] &^ lengthOpen)
	}
	if n > maxLengthBytes || len(data) < 2+n {
		return 0, nil, false
	}
	return data[0], data[2+n:], true
}

// berLength returns the length that berHead has read.
func berLength(data []byte) (length int) {
	if data[1] < lengthOpen {
		return int(data[1])
	}
	for _, c := range data[2 : 2+int(data[1]&^lengthOpen)] {
		length = length<<8 | int(c)
	}
	return length
}
