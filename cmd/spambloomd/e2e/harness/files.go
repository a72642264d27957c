package harness

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// BorrowedCertificate writes a self-signed certificate of 127.0.0.1, and its key.
func BorrowedCertificate(t testing.TB, dir string) (cert, key string) {
	t.Helper()
	borrowed := httptest.NewTLSServer(http.NotFoundHandler())
	pair := borrowed.TLS.Certificates[0]
	borrowed.Close()
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	testenv.Check(t, err)
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return Write(t, filepath.Join(dir, "remote.crt"), encode("CERTIFICATE", pair.Certificate[0])),
		Write(t, filepath.Join(dir, "remote.key"), encode("PRIVATE KEY", der))
}

func Write(t testing.TB, path, text string) string {
	t.Helper()
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
