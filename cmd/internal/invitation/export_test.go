package invitation

import (
	"crypto/ed25519"
	"encoding/json"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// Signed returns the line of an invitation with any JSON text, in which the signer is key.
func Signed(text string, key ed25519.PrivateKey) string {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) == nil {
		if named, ok := fields["key"].(string); ok && named != "" {
			text = strings.ReplaceAll(text, named, keyring.PublicKey(key))
		}
	}
	line, _ := encodeText(invitationPrefix, []byte(text), key) // too long: an empty line
	return line
}
