package milter

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// slotsOfLate is how many messages beyond their quantum are unpacked at a time.
const slotsOfLate = 2

// withArchive is a mail with enough text to sign, and an archive.
func withArchive(t *testing.T) mail {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	f, err := w.Create("invoice.txt")
	if err == nil {
		_, err = f.Write([]byte(letter.body))
	}
	if err = cmp.Or(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	// At least a kilobyte, or it would be ignored.
	packed.Write(make([]byte, 2000))
	return mail{
		header: []string{"Subject: Your invoice", "Content-Type: multipart/mixed; boundary=b"},
		body: "--b\r\nContent-Type: text/plain\r\n\r\n" + letter.body + "\r\n--b\r\nContent-Type: application/zip\r\n" +
			"Content-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString(packed.Bytes()) + "\r\n--b--\r\n",
	}
}

// The attack on one processor, by MTAs: six messages are unpacked until the test ends it.
// Mail with an archive is judged beside them.
func TestArchivesBesideHostileOnes(t *testing.T) {
	testenv.Servers(t)
	oneProcessor(t)
	b := start(t, Options{JudgeTimeout: time.Hour}, nil)
	b.Server.db = openDB(t)
	innocent := withArchive(t)
	testenv.Check(t, b.Server.db.Report(innocent.set(), bloomdb.ClassOther))
	release := make(chan struct{})
	var inside atomic.Int32 // messages that are unpacked
	b.Server.sign = func(m signature.Message, unpacking signature.Unpacking, stop <-chan struct{}) signature.Set {
		if !bytes.HasPrefix(m.Body, []byte("<style>")) {
			return signature.ComputeWith(m, unpacking, stop)
		}
		for {
			stop, done := unpacking()
			inside.Add(1)
			select {
			case <-stop:
				inside.Add(-1)
				done()
			case <-release:
				inside.Add(-1)
				done()
				return signature.Set{}
			}
		}
	}
	var six []*wire
	for i := range 6 {
		w := attacker(t, b, fmt.Sprintf("198.51.%d.1", i), fmt.Sprintf("bomb%d@example.net", i), "<style>")
		w.send('E', "")
		six = append(six, w)
	}
	testenv.Eventually(t, "six messages beyond their quantum", func() bool { return b.Load().Overtime == 6 })
	testenv.Eventually(t, "the stopped messages", func() bool { return inside.Load() == slotsOfLate })
	b.Server.quantum = time.Hour // from now on: this test must not depend on the machine's speed
	for i := range 5 {
		changes, _ := dial(t, "tcp", b.addr, offerAll, fmt.Sprintf("192.0.2.%d", i)).send(innocent)
		if !slices.ContainsFunc(changed(changes), func(c string) bool { return strings.HasPrefix(c, "+0 X-Spambloom: spam;") }) {
			t.Errorf("known spam with an archive is not found: %q", changed(changes))
		}
	}
	if n := inside.Load(); n != slotsOfLate {
		t.Errorf("%d messages beyond their quantum are unpacked, want %d", n, slotsOfLate)
	}
	if load := b.Load(); load.SetBack != 3*6 || load.Overtime != 6 {
		t.Errorf("load %+v", load)
	}
	close(release)
	for _, w := range six {
		w.expect("ic")
	}
}

// The daemon's other mail uses the slots of expensive messages, and waits for them.
func TestSigningOtherMail(t *testing.T) {
	content := withArchive(t)
	set := content.set()
	if !slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return s.Kind == signature.KindContent }) {
		t.Fatalf("the archive is not unpacked: %+v", set.Signatures)
	}
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil, Options{})
		end := make(chan struct{})
		for range slotsOfLate {
			go s.turns.Beside(func(unpacking signature.Unpacking) {
				_, done := unpacking()
				<-end
				done()
			})
		}
		synctest.Wait()
		signed := make(chan signature.Set, 1)
		go func() { signed <- s.Sign(content.message()) }()
		synctest.Wait()
		if len(signed) != 0 {
			t.Error("signed without a slot")
		}
		end <- struct{}{}
		if got := <-signed; !reflect.DeepEqual(got, set) {
			t.Errorf("%+v, want %+v", got, set)
		}
		end <- struct{}{}
		synctest.Wait()
	})
}
