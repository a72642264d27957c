package signature

// toUTF8Version2 is source in UTF-8 as version 2 reads it, given what version 1 makes
// of it: where that is right, the same slice.
func toUTF8Version2(source, text []byte, name string) []byte {
	return text
}
