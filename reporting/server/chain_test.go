package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// TestLongChain is the attack "long chain": a client without an authority sends many
// certificates with the name of the issuer of its own, and the daemon tries the key of each. A
// chain of two of one name, or of more certificates than any authority needs, is not verified.
func TestLongChain(t *testing.T) {
	a := newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	s := &remoteState{tls: &tls.Config{ClientCAs: roots}}
	chain := []*x509.Certificate{forged(t, "client", "1")}
	for i := range 5 {
		chain = append(chain, forged(t, fmt.Sprint(i+1), fmt.Sprint(i+2)))
	}
	for _, c := range []struct {
		chain []*x509.Certificate
		want  string
	}{
		{chain[:5], "is refused: x509"}, {chain, "certificates; at most"},
		{[]*x509.Certificate{chain[0], forged(t, "1", "1"), forged(t, "1", "1")}, "two certificates of the name"},
	} {
		if _, err := s.certified(c.chain); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d certificates: %v", len(c.chain), err)
		}
	}
}

// forged returns a certificate whose key is expensive to verify with.
func forged(t *testing.T, subject, issuer string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template(subject), template(issuer), &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
