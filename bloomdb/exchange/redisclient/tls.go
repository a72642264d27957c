package redisclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
)

// Options are the TLS settings that a URL (rediss://) cannot contain: files in PEM. The
// zero value trusts the system's CAs and presents no certificate.
type Options struct {
	CA   string // path of the CAs that sign the servers' certificates; default the system's
	Cert string // path of the certificate presented to the servers, with its chain
	Key  string // path of its private key
}

// Check reads the files.
func (o Options) Check() error { return o.apply(&tls.Config{}) }

// apply sets the files' content in c, which is nil for a link without TLS.
func (o Options) apply(c *tls.Config) error {
	switch {
	case o == Options{}:
		return nil
	case c == nil:
		return errors.New("a CA or certificate requires rediss://")
	case (o.Cert == "") != (o.Key == ""):
		return errors.New("a certificate and its key are both required")
	}
	if o.CA != "" {
		roots, err := readCAs(o.CA)
		if err != nil {
			return err
		}
		c.RootCAs = roots
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return fmt.Errorf("certificate %s with key %s: %w", o.Cert, o.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// maxCAs bounds a file of CAs: all of Debian's take 220 kB.
const maxCAs = 4 << 20

func readCAs(path string) (*x509.CertPool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCAs))
	if err != nil {
		return nil, fmt.Errorf("ca %s: %w", path, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("ca %s: contains no PEM certificate (-----BEGIN CERTIFICATE-----)", path)
	}
	return pool, nil
}
