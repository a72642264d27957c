package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"regexp"
	"strings"
)

// Cause is the kind of a fault of Redis, by which faults are logged and shown.
type Cause string

const (
	Unreachable Cause = "unreachable" // no connection, or no answer
	Certificate Cause = "certificate" // TLS: a wrong CA, name or certificate, or no TLS there
	Password    Cause = "password"    // the user or the password is wrong, or none is given
	Rights      Cause = "rights"      // an ACL forbids a command, a key or the channel
	Memory      Cause = "memory"      // maxmemory is reached
	Disk        Cause = "disk"        // Redis cannot write to its disk
	Loading     Cause = "loading"     // Redis reads its data after a start
	Busy        Cause = "busy"        // Redis runs a script that does not end
	Replica     Cause = "replica"     // the server is a read-only replica
	Lost        Cause = "lost"        // Redis came back empty or with older data
	Other       Cause = "other"       // see the text of the fault
)

// Pending stands for a fault while the first connection is made.
const Pending = "not connected yet"

// words are the beginnings of Redis' errors.
var words = []struct {
	word  string
	cause Cause
}{
	{"WRONGPASS", Password}, {"NOAUTH", Password}, {"ERR invalid password", Password},
	{"ERR AUTH <password> called without", Password}, {"NOPERM", Rights}, {"OOM", Memory},
	{"stream does not end where this site left it", Lost}, {"has disappeared from Redis", Lost},
	{"MISCONF", Disk}, {"LOADING", Loading}, {"BUSY Redis", Busy}, {"READONLY", Replica}, {"MASTERDOWN", Replica},
}

// CauseOf returns the cause that an error stands for.
func CauseOf(err error) Cause {
	text := err.Error()
	for _, w := range words {
		if strings.Contains(text, w.word) {
			return w.cause
		}
	}
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var certificate x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case strings.Contains(text, "can't run this command or subcommand"), strings.Contains(text, "can't access at least one of the keys"):
		return Rights // from within a script
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &certificate), errors.As(err, &verification), errors.As(err, &record), errors.As(err, &alert):
		return Certificate
	}
	var file *fs.PathError // a file of this site; its error number would count as one of the network
	if errors.As(err, &file) {
		return Other
	}
	var network net.Error
	if errors.As(err, &network) || strings.Contains(text, "EOF") || strings.Contains(text, "own news have not come back") {
		return Unreachable
	}
	return Other
}

// advice is what an administrator does about a cause.
var advice = map[Cause]string{
	Unreachable: "check that Redis runs and listens on the address in redis.url",
	Certificate: "check redis.ca, and that the name in redis.url is in the certificate of Redis",
	Password:    "check user and password in redis.url; a user made by ACL SETUSER is lost when Redis restarts without an aclfile",
	Rights:      "give the user the rights in contrib/redis.md, in the aclfile",
	Memory:      "give Redis more maxmemory, or lower redis.snapshot_limit",
	Disk:        "free space on the disk of Redis",
	Loading:     "wait until Redis has read its data",
	Busy:        "if that lasts, kill Redis (kill -9) and start it again: a client with its password runs a script without end",
	Replica:     "name the primary in redis.url, or use Sentinel",
	Lost:        "no command is needed: each site publishes its reports and counts again, and GAPS returns to 0",
}

// keyName is the name of a key in Redis at the beginning of an error.
var keyName = regexp.MustCompile(`\{[^{}]*\}:[^\s]+: `)

// Plain returns the text of an error for people: without names of keys in Redis, and
// without Redis' full stop.
func Plain(text string) string {
	text = strings.TrimSuffix(keyName.ReplaceAllString(text, ""), ".") // advice follows it
	if before, closed := strings.CutSuffix(text, "EOF"); closed {
		text = before + "Redis closed the connection"
	}
	return text
}

// String returns the fault for people, and what to do about it.
func (f Fault) String() string {
	text := fmt.Sprintf("%s: %s", f.Cause, Plain(f.Error))
	if advice := f.Cause.Advice(); advice != "" {
		text += "; " + advice
	}
	return text
}

// Advice returns what to do about a cause, or "".
func (c Cause) Advice() string { return advice[c] }
