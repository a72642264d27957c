package secured

import (
	"crypto/x509"
	"fmt"
)

// maxChain bounds the certificates of a client.
const maxChain = 5

// CheckChain returns an error for certificates that could take long to verify, as their client has proven nothing yet:
// more than five, or two of one name. crypto/x509 tries the key of every certificate that has the issuer's name: five
// certificates of one name took 37 ms. Keys are bounded by crypto/tls.
func CheckChain(chain []*x509.Certificate) error {
	if len(chain) > maxChain {
		return fmt.Errorf("the client sends %d certificates; at most %d", len(chain), maxChain)
	}
	names := make(map[string]bool, len(chain))
	for _, c := range chain {
		name := string(c.RawSubject)
		if names[name] {
			return fmt.Errorf("the client sends two certificates of the name %.200q", c.Subject)
		}
		names[name] = true
	}
	return nil
}
