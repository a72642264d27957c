package faults

import (
	"archive/tar"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// soakCorpus is real mail. It is not part of the repository.
var soakCorpus = filepath.Join(harness.Repository, "../shared/corpora/spamassassin.tar.xz")

// soakMail is one message.
type soakMail struct {
	id     string // its queue id, which identifies it in the log
	header [][2]string
	body   string
	rcpts  int
	want   string // its verdict; "": any except failed
}

// soakPost creates the mail. It is safe for concurrent use.
type soakPost struct {
	corpus    []signature.Message
	campaigns []string // bodies that are sent repeatedly

	mu       sync.Mutex // guards the two below
	next     int
	reported []string // reported bodies that stay reported
}

func newSoakPost(t *testing.T, r *rand.Rand) *soakPost {
	t.Helper()
	p := &soakPost{}
	if _, err := os.Stat(soakCorpus); err == nil {
		p.corpus = readCorpus(t, r, 500)
	}
	for range 20 {
		p.campaigns = append(p.campaigns, harness.Paragraph(r))
	}
	t.Logf("%d mails of the corpus", len(p.corpus))
	return p
}

// readCorpus reads about n mails from the archive, without unpacking it.
func readCorpus(t *testing.T, r *rand.Rand, n int) (mails []signature.Message) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "xz"), "-dc", soakCorpus)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	const all = 6000 // about
	archive := tar.NewReader(out)
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry.Typeflag != tar.TypeReg || r.IntN(all) >= n {
			continue
		}
		raw, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		mails = append(mails, signature.Parse(raw))
	}
	_, err = io.Copy(io.Discard, out)
	if err = errors.Join(err, cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	return mails
}

// draw creates a message of a random kind.
func (p *soakPost) draw(r *rand.Rand) *soakMail {
	p.mu.Lock()
	reported := len(p.reported)
	p.mu.Unlock()
	switch n := r.IntN(100); {
	case n < 40 && len(p.corpus) > 0:
		m := p.corpus[r.IntN(len(p.corpus))]
		mail := &soakMail{body: string(m.Body)}
		for _, f := range m.Header {
			if f.Name == "" || strings.Contains(f.Name+f.Value, "\x00") {
				continue // no MTA passes such a field to a milter
			}
			mail.header = append(mail.header, [2]string{f.Name, f.Value})
		}
		return p.stamp(r, mail)
	case n < 55:
		return p.plain(r, p.campaigns[r.IntN(len(p.campaigns))], "")
	case n < 65 && reported > 0:
		p.mu.Lock()
		body := p.reported[r.IntN(reported)]
		p.mu.Unlock()
		return p.plain(r, body, "spam")
	case n < 68:
		return p.plain(r, strings.Repeat(harness.Paragraph(r)+"\r\n", 500+r.IntN(2000)), "") // up to 1.5 MB
	case n < 72:
		return p.plain(r, []string{"", "\r\n", "Hello.\r\n"}[r.IntN(3)], "skipped")
	case n < 85:
		return p.multipart(r)
	}
	return p.plain(r, harness.Paragraph(r), "")
}

// plain returns a message with the headers used in the daemon's own tests.
func (p *soakPost) plain(r *rand.Rand, body, want string) *soakMail {
	m := &soakMail{body: body, want: want, header: [][2]string{
		{"From", "someone@example.net"}, {"To", "you@example.test"}, {"Subject", "a letter"},
		{"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"}}}
	if r.IntN(5) == 0 {
		m.header = append(m.header, [2]string{"X-Spambloom", "clean; forged"}, [2]string{"X-Spam-Flag", "NO"})
	}
	return p.stamp(r, m)
}

// multipart returns a message with HTML, 8-bit text, and an attachment; sometimes its end
// is missing.
func (p *soakPost) multipart(r *rand.Rand) *soakMail {
	file := make([]byte, 100+r.IntN(50_000))
	for i := range file {
		file[i] = byte(r.Uint32())
	}
	parts := []string{
		"Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\n" + harness.Paragraph(r) + "\xe4\xf6\xfc\r\n",
		"Content-Type: text/html; charset=utf-8\r\n\r\n<html><body><p>" + harness.Paragraph(r) + "<a href=\"http://" + harness.Words[r.IntN(len(harness.Words))] + ".example/\">x</a></body></html>\r\n",
		"Content-Type: application/octet-stream; name=a.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString(file) + "\r\n",
	}
	body := "--edge\r\n" + strings.Join(parts, "--edge\r\n")
	if r.IntN(4) > 0 {
		body += "--edge--\r\n"
	}
	return p.stamp(r, &soakMail{body: body, header: [][2]string{
		{"From", "J\xf6rg <someone@example.net>"}, {"Subject", "=?utf-8?q?a_letter?=\n\t(folded)"},
		{"MIME-Version", "1.0"}, {"Content-Type", `multipart/mixed; boundary="edge"`}}})
}

// stamp makes a message unique.
func (p *soakPost) stamp(r *rand.Rand, m *soakMail) *soakMail {
	p.mu.Lock()
	p.next++
	m.id = fmt.Sprintf("4SOAK%d", p.next)
	p.mu.Unlock()
	m.rcpts = 1 + r.IntN(3)
	return m
}

// keep adds a message to those that are spam from now on.
func (p *soakPost) keep(body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reported = append(p.reported, body)
}

// reportedOnes returns the messages reported so far.
func (p *soakPost) reportedOnes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reported[:len(p.reported):len(p.reported)]
}
