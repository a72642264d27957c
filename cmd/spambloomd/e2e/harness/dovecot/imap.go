package dovecot

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// IMAP is the connection of a user's mail program.
type IMAP struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	tag  int
}

func (c *IMAP) line() string {
	c.t.Helper()
	if err := c.conn.SetReadDeadline(time.Now().Add(testenv.Patience)); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatalf("IMAP: %v", err)
	}
	return strings.TrimRight(line, "\r\n")
}

// Do sends a command, waits until it is completed, and returns the server's earlier
// responses. The test fails unless the answer is OK.
func (c *IMAP) Do(command string) string {
	c.t.Helper()
	c.tag++
	tag := fmt.Sprintf("a%d ", c.tag)
	if _, err := c.conn.Write([]byte(tag + command + "\r\n")); err != nil {
		c.t.Fatal(err)
	}
	var said bytes.Buffer
	for {
		line := c.line()
		if strings.HasPrefix(line, tag) {
			if !strings.HasPrefix(line, tag+"OK") {
				c.t.Fatalf("%.60s: %s", command, line)
			}
			return said.String()
		}
		said.WriteString(line + "\n")
	}
}

// Put appends a mail to a mailbox, like a mail program.
func (c *IMAP) Put(mailbox, mail string) {
	c.t.Helper()
	c.Do(fmt.Sprintf("APPEND %q {%d+}\r\n%s", mailbox, len(mail), mail))
}

// Empty deletes the mails of a mailbox.
func (c *IMAP) Empty(mailbox string) {
	c.t.Helper()
	c.Do(fmt.Sprintf("SELECT %q", mailbox))
	c.Do(`STORE 1:* +FLAGS.SILENT (\Deleted)`)
	c.Do("EXPUNGE")
}

// Count returns the number of mails in a mailbox.
func (c *IMAP) Count(mailbox string) int {
	c.t.Helper()
	var n int
	said := c.Do(fmt.Sprintf("STATUS %q (MESSAGES)", mailbox))
	if _, err := fmt.Sscanf(said[strings.Index(said, "(MESSAGES"):], "(MESSAGES %d)", &n); err != nil {
		c.t.Fatalf("%v: %s", err, said)
	}
	return n
}
