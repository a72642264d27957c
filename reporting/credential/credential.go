// Package credential reads and makes the files with which a daemon and its clients on other
// machines prove who they are: tokens of clients, and certificates of authorities. Client
// and server use it. It does not own connections or rights, and it has no state and no
// locks.
package credential

import (
	"crypto/x509"
	"fmt"
	"io"
	"os"
)

// maxPEM bounds a file of certificates, in bytes.
const maxPEM = 1 << 20

// ReadAuthorities reads the certificates of authorities, which sign those of others.
func ReadAuthorities(path string) (*x509.CertPool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	pool := x509.NewCertPool()
	if len(text) > maxPEM || !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: holds no certificate, or is over %d bytes", path, maxPEM)
	}
	return pool, nil
}
