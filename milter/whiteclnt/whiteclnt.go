// Package whiteclnt reads DCC's client whitelist as allow rules, so that sites that migrate
// from DCC (dccm, dccifd) keep the file. It owns the file's syntax, as DCC 2.3.167 reads
// it, and which part of it is imported. Package milter owns the meaning of a rule.
//
// A line has a count, a type and a value. A line that begins with white space uses the
// previous count. A "#" begins a comment line.
//
//	ok  ip 192.0.2.1               the client; also a block 192.0.2.0/24, which must
//	                               begin at its boundary, or 192.0.2.1-192.0.2.9
//	ok  env_From user@example.org  the envelope sender
//	ok  from user@example.org      the header From; unlike in DCC it must be proven
//	                               (milter.Options.AuthservID), and only the address
//	                               in "Name <user@...>" counts
//	ok  env_To user@example.org    the recipient; also user+detail@example.org
//	ok  substitute List-Id <id>    the list; only the text within <> counts
//	ok  substitute mail_host name  the domain of the envelope sender
//	include file                   one level deep; relative to the folder of the first
//	                               file, where DCC has its home folder
//
// The rest of DCC's syntax is skipped with a warning, because an allow rule cannot express
// it: the counts ok2, many and numbers (many is DCC's blacklist), mx, mxdcc and submit (see
// milter.local_networks in the configuration), host names (no DNS request is made),
// checksums (hex), the types Message-ID and Received, other headers in substitute, the
// empty sender, and options. Anything that DCC does not read either is an error: the whole
// file is rejected.
package whiteclnt

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spambloom/spambloom/milter/policy"
)

// Name is the name of the rules: the reason of mail they allow is "allow:whiteclnt".
const Name = "whiteclnt"

// Bounds on a list, including its included files.
const (
	maxBytes  = 16 << 20 // 100,000 lines have some 4 MiB
	maxFiles  = 16       // in addition to the first
	maxLine   = 1023     // bytes; as in DCC
	maxBlocks = 1 << 20  // of addresses, also in lines that are skipped; one takes 32 bytes, and 50 as a rule
	maxNamed  = 20       // errors or warnings listed one by one
)

// Load reads the file and its included files. It returns one rule for each kind of
// condition, with values in the order of the file; none for an empty file. Warnings have
// the form "file:line: why" for skipped lines. The error lists each invalid line in the
// same form. Of both, the first 20 are listed, followed by the number of others.
func Load(path string) (rules []policy.Allow, warnings []error, err error) {
	r := reader{read: readFile, folder: filepath.Dir(path), left: maxBytes}
	r.readAll(path, "")
	if err := errors.Join(r.wrong.list()...); err != nil {
		return nil, nil, err
	}
	return r.rules(), r.passed.list(), nil
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int) ([]byte, error) {
	info, err := os.Stat(path) // before Open, which would wait for the writer of a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("%s: over %d MiB, including its included files", path, maxBytes>>20)
	}
	return text, err
}

// reader is the state of reading a list.
type reader struct {
	read   func(path string, limit int) ([]byte, error)
	folder string // of the first file
	left   int    // bytes that may still be read
	files  int    // included so far
	blocks int    // of addresses so far

	path     string // of the file being read
	number   int    // of the line
	included bool   // whether path is an included file
	count    string // of the previous line; "": none

	networks                           []netip.Prefix
	senders, from, recipients, listIDs []string

	wrong, passed findings
}

// readAll reads one file. Where is the including line, followed by ": ".
func (r *reader) readAll(path, where string) {
	text, err := r.read(path, r.left)
	if err != nil {
		r.wrong.add(fmt.Errorf("%s%w", where, err))
		return
	}
	r.left -= len(text)
	r.path, r.number, r.count = path, 0, ""
	for line := range strings.Lines(string(text)) {
		r.number++
		if err := r.line(strings.TrimRight(line, whitespace)); err != nil {
			r.wrong.add(r.here(err))
		}
	}
}

// here adds the file and line to an error.
func (r *reader) here(err error) error { return fmt.Errorf("%s:%d: %w", r.path, r.number, err) }

// pass records that a line is skipped.
func (r *reader) pass(why string) { r.passed.add(r.here(errors.New("skipped: " + why))) }

// include reads another file in the middle of the first.
func (r *reader) include(name string) error {
	if n := len(name); n > 1 && (name[0] == '"' && name[n-1] == '"' || name[0] == '<' && name[n-1] == '>') {
		name = name[1 : n-1]
	}
	switch {
	case name == "":
		return errors.New("include without a file")
	case r.included:
		return errors.New("include in an included file")
	case r.files == maxFiles:
		return fmt.Errorf("more than %d included files", maxFiles)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.folder, name)
	}
	r.files++
	path, number := r.path, r.number
	r.included = true
	r.readAll(name, fmt.Sprintf("%s:%d: include: ", path, number))
	r.included, r.path, r.number, r.count = false, path, number, ""
	return nil
}

// rules returns one rule for each kind of condition: any of them allows a message.
func (r *reader) rules() (rules []policy.Allow) {
	for _, rule := range []policy.Allow{
		{Networks: r.networks}, {Senders: r.senders}, {From: r.from}, {ListIDs: r.listIDs}, {Recipients: r.recipients},
	} {
		if len(rule.Networks)+len(rule.Senders)+len(rule.From)+len(rule.ListIDs)+len(rule.Recipients) > 0 {
			rule.Name = Name
			rules = append(rules, rule)
		}
	}
	return rules
}

// findings are errors or warnings, the first of which are listed.
type findings struct {
	named []error
	more  int
}

func (f *findings) add(err error) {
	if len(f.named) < maxNamed {
		f.named = append(f.named, err)
	} else {
		f.more++
	}
}

func (f *findings) list() []error {
	if f.more == 0 {
		return f.named
	}
	return append(f.named, fmt.Errorf("and %d more", f.more))
}
