package invitation

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// The first words of the two lines. The number is the version of the format.
const (
	requestPrefix    = "spambloom-request-1:"
	invitationPrefix = "spambloom-invitation-1:"
)

// maxLine bounds a line in bytes. The longest one has 32 peers and a CA file of 4 KiB.
const maxLine = 24 << 10

// headSize is the length of the checksum and the signature before the JSON text.
const headSize = crc32.Size + ed25519.SignatureSize

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of lines.
var (
	ErrNoLine  = errors.New(`not a line of spambloom; it begins with "` + requestPrefix + `" or "` + invitationPrefix + `"`)
	ErrTorn    = errors.New("line is incomplete or was changed: its checksum is wrong; copy it again, from the first to the last character")
	ErrForged  = errors.New("line is not signed with the key that it contains")
	ErrNewer   = errors.New("line was made by a newer version of spambloom; upgrade this site")
	ErrInvalid = errors.New("line is invalid")
)

// IsRequest reports whether a line begins like a request.
func IsRequest(line string) bool { return strings.HasPrefix(joined(line), requestPrefix) }

// joined removes the blanks and line breaks that mail programs add.
func joined(line string) string { return strings.Join(strings.Fields(line), "") }

// encode returns the line with a JSON text, signed.
func encode(prefix string, v any, key ed25519.PrivateKey) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return encodeText(prefix, text, key)
}

func encodeText(prefix string, text []byte, key ed25519.PrivateKey) (string, error) {
	signed := append(ed25519.Sign(key, append([]byte(prefix), text...)), text...)
	raw := binary.BigEndian.AppendUint32(nil, crc32.Checksum(signed, castagnoli))
	line := prefix + base64.RawURLEncoding.EncodeToString(append(raw, signed...))
	if len(line) > maxLine {
		return "", fmt.Errorf("line would have %d bytes, limit %d", len(line), maxLine)
	}
	return line, nil
}

// decode checks a line and reads its JSON text into v. signer returns the public key of
// the signer that v contains.
func decode(prefix, line string, v any, signer func() string) error {
	if len(line) > 2*maxLine {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrInvalid, len(line), maxLine)
	}
	encoded, ok := strings.CutPrefix(joined(line), prefix)
	if !ok {
		return wrongPrefix(joined(line), prefix)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(raw) <= headSize || len(encoded) > maxLine {
		return ErrTorn
	}
	signed := raw[crc32.Size:]
	if crc32.Checksum(signed, castagnoli) != binary.BigEndian.Uint32(raw) {
		return ErrTorn
	}
	text := raw[headSize:]
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	public, err := keyring.ParsePublicKey(signer())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if !ed25519.Verify(public, append([]byte(prefix), text...), raw[crc32.Size:headSize]) {
		return ErrForged
	}
	return nil
}

// wrongPrefix returns the error of a line that begins with another word than prefix.
func wrongPrefix(line, prefix string) error {
	kind, _, _ := strings.Cut(line, ":")
	wanted, _, _ := strings.Cut(prefix, "1:")
	if version, ok := strings.CutPrefix(kind, wanted); ok && version != "" && strings.Trim(version, "0123456789") == "" {
		return ErrNewer
	}
	return ErrNoLine
}
