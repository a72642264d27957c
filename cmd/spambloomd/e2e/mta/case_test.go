package mta

// The commands of the cases in testdata/mta. Its README describes them.

import (
	"bytes"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// read returns a file of the case, with LF line ends.
func (c *mailCase) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	return string(text), err
}

// glob matches a text with a pattern in which * stands for anything.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(text)
}

// configure applies a file of the case to the configuration. $FIRST and $SECOND are the
// listeners.
func (c *mailCase) configure(name string) error {
	changes, err := c.read(name)
	if err == nil {
		names := strings.NewReplacer("$FIRST", c.milters.first.String(), "$SECOND", c.milters.second.String())
		c.site.Overlay(c.t, names.Replace(changes))
	}
	return err
}

func (c *mailCase) daemon(args []string) error {
	for _, name := range args {
		if err := c.configure(name); err != nil {
			return err
		}
	}
	c.site.Start()
	return nil
}

func (c *mailCase) reload(args []string) error {
	err := c.configure(args[0])
	if err == nil {
		c.site.Reload(c.t, `"reloaded"`)
	}
	return err
}

func (c *mailCase) report(args []string) error {
	text, err := c.read(args[0])
	if err != nil {
		return err
	}
	request := api.NewRequest(signature.Compute(signature.Parse([]byte(text))))
	if len(args) > 1 {
		if request.Class, err = bloomdb.ParseClass(args[1]); err != nil {
			return err
		}
	}
	_, err = client.Post(c.t.Context(), c.site.Client(), v1.Report, request)
	return err
}

// spambloom runs the command, with a file of the case as last argument.
func (c *mailCase) spambloom(args []string) error {
	last := len(args) - 1
	args[last] = filepath.Join(c.dir, args[last])
	if r := c.site.CLI(args...); r.Code != 0 {
		return fmt.Errorf("%+v", r)
	}
	return nil
}

func (c *mailCase) terminate([]string) error {
	err := c.site.Cmd.Process.Signal(syscall.SIGTERM)
	testenv.Eventually(c.t, "the daemon stops", func() bool { return strings.Contains(c.site.Log(), `"stopping"`) })
	return err
}

func (c *mailCase) crash([]string) error {
	c.site.Stop(syscall.SIGKILL)
	return nil
}

func (c *mailCase) awaitEnd([]string) error {
	if code := c.site.Stop(harness.NoSignal); code != 0 {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}

// grow repeats a line of a mail, the last one before the boundary at its end, until the
// mail has the size in bytes.
func (c *mailCase) grow(args []string) error {
	text, err := c.read(args[0])
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(strings.ReplaceAll(args[1], "_", ""))
	if err != nil {
		return err
	}
	head, end := strings.TrimSuffix(text, "\n"), "\n"
	if i := strings.LastIndex(head, "\n--"); i >= 0 {
		head, end = head[:i], text[i:]
	}
	last := head[strings.LastIndex(head, "\n"):]
	text = head + strings.Repeat(last, max(0, size-len(text))/len(last)) + end
	return os.WriteFile(filepath.Join(c.dir, args[0]), []byte(text), 0o600)
}

// connect takes an address of this machine, a listener's name and as=NAME as arguments, in
// any order. It first closes a connection of the same name.
func (c *mailCase) connect(args []string) error {
	from, to, name := "127.0.0.2", "smtp", ""
	for _, arg := range args {
		if value, found := strings.CutPrefix(arg, "as="); found {
			name = value
		} else if strings.ContainsAny(arg, ".:") {
			from = arg
		} else {
			to = arg
		}
	}
	if before := c.open[name]; before != nil {
		before.close()
		delete(c.open, name)
	}
	dialogue, err := dialSMTP(from, c.server.listener(to))
	if err == nil {
		c.open[name], c.smtp = dialogue, dialogue
	}
	return err
}

// on returns to a connection of that name.
func (c *mailCase) on(args []string) error {
	c.smtp = c.open[args[0]]
	if c.smtp == nil {
		return fmt.Errorf("no such connection")
	}
	return nil
}

func (c *mailCase) login([]string) error {
	reply, err := c.smtp.login(saslUser+"@"+saslRealm, saslPassword)
	if err == nil && !strings.HasPrefix(reply, "235 ") {
		err = fmt.Errorf("answer %q", reply)
	}
	return err
}

func (c *mailCase) offered(args []string) error {
	if keyword, no := strings.CutPrefix(args[0], "no:"); c.smtp.offers(keyword) == no {
		return fmt.Errorf("the server replied:\n%s", c.smtp.hello)
	}
	return nil
}

// send takes options, the file of a mail, and its recipients as arguments.
func (c *mailCase) send(args []string) error {
	e := envelope{from: "someone@example.net"}
	for ; len(args) > 0 && strings.HasPrefix(args[0], "-"); args = args[1:] {
		switch name, value, _ := strings.Cut(args[0], "="); name {
		case "-from":
			e.from = value
		case "-with":
			e.parameters += " " + value
		case "-pipelined":
			e.pipelined = true
		default:
			return fmt.Errorf("unknown option %s", args[0])
		}
	}
	text, err := c.read(args[0])
	if err != nil {
		return err
	}
	e.rcpts = args[1:]
	if len(e.rcpts) == 0 {
		e.rcpts = []string{"you@example.test"}
	}
	c.seen = false
	if ready, err := c.smtp.begin(e); err != nil || !ready {
		if err == nil {
			err = c.smtp.abandon()
		}
		return err
	}
	if err := c.smtp.write(text); err != nil {
		return err
	}
	return c.smtp.end()
}

// begin sends the first half of a mail; finish sends the rest.
func (c *mailCase) begin(args []string) error {
	text, err := c.read(args[0])
	if err != nil {
		return err
	}
	c.seen = false
	ready, err := c.smtp.begin(envelope{from: "someone@example.net", rcpts: []string{"you@example.test"}})
	if err == nil && !ready {
		err = fmt.Errorf("the server replied %q", c.smtp.replies)
	}
	if err != nil {
		return err
	}
	middle := strings.Index(text[len(text)/2:], "\n") + len(text)/2 + 1
	c.smtp.rest = text[middle:]
	return c.smtp.write(text[:middle])
}

func (c *mailCase) finish([]string) error {
	if err := c.smtp.write(c.smtp.rest); err != nil {
		return err
	}
	return c.smtp.end()
}

func (c *mailCase) replies(args []string) error {
	matches := len(args) == len(c.smtp.replies)
	for i := 0; matches && i < len(args); i++ {
		matches = glob(args[i]+"*", c.smtp.replies[i])
	}
	if !matches {
		return fmt.Errorf("the server replied %q", c.smtp.replies)
	}
	return nil
}

func (c *mailCase) reply(args []string) error {
	if last := c.smtp.replies[len(c.smtp.replies)-1]; !glob(args[0]+"*", last) {
		return fmt.Errorf("the server replied %q", last)
	}
	return nil
}

// submit sends mail of a program on this machine.
func (c *mailCase) submit(args []string) error {
	text, err := c.read(args[0])
	if err != nil {
		return err
	}
	c.seen = false
	command := c.server.command("someone@example.net", "you@example.test")
	command.Stdin = strings.NewReader(text)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

// talk opens a connection to a program on this machine.
func (c *mailCase) talk([]string) error {
	dialogue, err := talkSMTP(c.server.dialogue())
	if err == nil {
		c.smtp = dialogue
		c.open["talk"] = dialogue
	}
	return err
}

var messageID = regexp.MustCompile(`Message-ID: (<.*>)`)

// messageIDOf returns the Message-ID that identifies the files of a mail.
func (c *mailCase) messageIDOf(name string) (string, error) {
	text, err := c.read(name)
	if err != nil {
		return "", err
	}
	id := messageID.FindStringSubmatch(text)
	if id == nil {
		return "", fmt.Errorf("%s has no Message-ID", name)
	}
	return id[1], nil
}

// among returns the given file that contains the mail with that Message-ID.
func (c *mailCase) among(files []string, id string) (path, text string) {
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte("Message-ID: "+id)) { // it may have been moved
			return path, string(text)
		}
	}
	return "", ""
}

// headers waits for a copy of a mail, and compares it. The copy then becomes a file of the
// case, and no longer counts as delivered.
func (c *mailCase) headers(args []string) error {
	id, err := c.messageIDOf(args[0])
	if err != nil {
		return err
	}
	sent, _ := c.read(args[0])
	want, err := c.read(args[1])
	if err != nil {
		return err
	}
	var path, got string
	testenv.Eventually(c.t, args[0]+" is delivered", func() bool {
		path, got = c.among(c.server.copies(), id)
		return path != ""
	})
	raw := got
	got = strings.ReplaceAll(got, "\r\n", "\n")
	_, sentBody, _ := strings.Cut(sent, "\n\n")
	if _, body, _ := strings.Cut(got, "\n\n"); body != sentBody {
		return fmt.Errorf("the body was changed in transit, %s", difference(body, sentBody))
	}
	if err := compareHeaders(got, want); err != nil {
		return err
	}
	if err := c.expectQueueID(got); err != nil {
		return err
	}
	copied := filepath.Join(c.dir, args[0]+".copy")
	if err := os.WriteFile(copied, []byte(raw), 0o600); err != nil {
		return err
	}
	return os.Remove(path)
}

// difference shows where two texts differ.
func difference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("%d bytes instead of %d, at byte %d: %.300q instead of %.300q", len(got), len(want), at, got[at:], want[at:])
}

// compareHeaders compares the fields of the names in want, and our own.
func compareHeaders(got, want string) error {
	names := map[string]bool{"x-spambloom": true, "x-spam-flag": true}
	wanted := headerFields(want)
	for _, field := range wanted {
		name, _, _ := strings.Cut(field, ":")
		names[strings.ToLower(strings.TrimSpace(name))] = true
	}
	var found []string
	for _, field := range headerFields(got) {
		if name, _, _ := strings.Cut(field, ":"); names[strings.ToLower(strings.TrimSpace(name))] {
			found = append(found, field)
		}
	}
	matches := len(found) == len(wanted)
	for i := 0; matches && i < len(wanted); i++ {
		matches = glob(wanted[i], found[i])
	}
	if !matches {
		return fmt.Errorf("the delivered header has\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(wanted, "\n"))
	}
	return nil
}

// headerFields returns the fields of a header, each with its continuation lines.
func headerFields(header string) (fields []string) {
	header, _, _ = strings.Cut(header, "\n\n")
	for line := range strings.Lines(header) {
		line = strings.TrimSuffix(line, "\n")
		if len(fields) > 0 && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")) {
			fields[len(fields)-1] += "\n" + line
		} else if line != "" {
			fields = append(fields, line)
		}
	}
	return fields
}

var receivedID = regexp.MustCompile(`\bid (\w+)`)

// expectQueueID compares the log with the Received field if the mail is in the log.
func (c *mailCase) expectQueueID(delivered string) error {
	if !c.seen {
		return nil
	}
	read, err := mail.ReadMessage(strings.NewReader(delivered))
	if err != nil {
		return err
	}
	for _, received := range read.Header["Received"] {
		if id := receivedID.FindStringSubmatch(received); id != nil && c.ids[id[1]] {
			return nil
		}
	}
	return fmt.Errorf("the log has the queue ids %v, the mail %q", c.ids, read.Header["Received"])
}

func (c *mailCase) held(args []string) error {
	id, err := c.messageIDOf(args[0])
	if err != nil {
		return err
	}
	testenv.Eventually(c.t, args[0]+" is held", func() bool {
		path, _ := c.among(c.server.held(), id)
		return path != ""
	})
	if path, _ := c.among(c.server.copies(), id); path != "" {
		return fmt.Errorf("it was also delivered: %s", path)
	}
	return nil
}

func (c *mailCase) release([]string) error {
	c.server.release()
	return nil
}

// gone waits until the mail server is idle, and does not contain such a mail.
func (c *mailCase) gone(args []string) error {
	id, err := c.messageIDOf(args[0])
	if err != nil {
		return err
	}
	testenv.Eventually(c.t, "the queue is empty", func() bool { return len(c.server.waiting()) == 0 })
	if path, text := c.among(append(c.server.copies(), c.server.held()...), id); path != "" {
		return fmt.Errorf("%s:\n%.5000s", path, text)
	}
	return nil
}

// logged takes the first line for a mail that was not checked yet.
func (c *mailCase) logged(args []string) error {
	id, err := c.messageIDOf(args[0])
	if err != nil {
		return err
	}
	var line map[string]any
	testenv.Eventually(c.t, "the log has another line", func() bool {
		lines := c.site.MessageLines()
		if len(lines) > c.lines {
			line = lines[c.lines]
		}
		return line != nil
	})
	c.lines++
	c.seen = true
	queueID, _ := line["queue_id"].(string)
	if queueID == "" || c.ids[queueID] {
		return fmt.Errorf("queue id %q, earlier ones %v", queueID, c.ids)
	}
	c.ids[queueID] = true
	for _, want := range append(args[1:], "message_id="+id) {
		name, pattern, _ := strings.Cut(want, "=")
		if got := fmt.Sprint(line[name]); line[name] == nil || !glob(pattern, got) {
			return fmt.Errorf("%s is %q in %v, want %s", name, got, line, pattern)
		}
	}
	return nil
}

func (c *mailCase) logSays(args []string) error {
	testenv.Eventually(c.t, "the log says "+args[0], func() bool { return glob("*"+args[0]+"*", c.site.Log()) })
	return nil
}

func (c *mailCase) logLacks(args []string) error {
	if glob("*"+args[0]+"*", c.site.Log()) {
		return fmt.Errorf("the log contains it:\n%s", c.site.Log())
	}
	return nil
}
