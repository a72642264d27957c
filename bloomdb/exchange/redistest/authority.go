package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a private CA with its files in a folder.
type Authority struct {
	t    *testing.T
	dir  string
	Cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes one; its certificate is ca.pem.
func NewAuthority(t *testing.T) *Authority {
	a := &Authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "private CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.Cert, a.key = a.Issue("ca", template)
	return a
}

// Path returns the path of one of its files.
func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

// Issue writes NAME.pem and NAME.key.
func (a *Authority) Issue(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(int64(len(name)))
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.Cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", secret)
	return cert, key
}

func (a *Authority) write(name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(a.Path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}
