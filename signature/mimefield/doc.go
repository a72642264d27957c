// Package mimefield reads the header fields of MIME (RFC 2045, RFC 2183): types and their parameters,
// transfer encodings and dispositions, as mail programs read them. Where programs differ, it returns
// all readings. A text must not hide where only another program sees it.
//
// Its functions are pure, and their cost is linear in the length of the field.
package mimefield
