package secured

import (
	"crypto/rsa"
	"crypto/x509"
	"fmt"
)

// Bounds of the certificates of a client. crypto/x509 tries each one with the key of each that has its issuer's name: five of
// one name took 37 ms of processor time.
const (
	maxChain = 5
	maxRSA   = 8192 // bits, as crypto/tls allows for the first one
)

// CheckChain returns an error for certificates that could take long to verify, as their client has proven nothing yet:
// more than five, two of one name, or a long RSA key.
func CheckChain(chain []*x509.Certificate) error {
	if len(chain) > maxChain {
		return fmt.Errorf("the client sends %d certificates; at most %d", len(chain), maxChain)
	}
	names := make(map[string]bool, len(chain))
	for _, c := range chain {
		if key, ok := c.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxRSA {
			return fmt.Errorf("the client sends a certificate with a key of %d bits; at most %d", key.N.BitLen(), maxRSA)
		}
		name := string(c.RawSubject)
		if names[name] {
			return fmt.Errorf("the client sends two certificates of the name %.200q", c.Subject)
		}
		names[name] = true
	}
	return nil
}
