package mta

// SMTP for the cases: several mails on a connection, pipelined commands, and answers as
// they arrive.

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// stream carries commands and answers.
type stream interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
}

// smtpDialogue is one connection to a mail server.
type smtpDialogue struct {
	conn    stream
	text    *textproto.Conn
	hello   string   // the answer to EHLO
	replies []string // to the commands of the previous mail, one each
	rest    string   // unsent part of the content
}

// dialSMTP connects from an address of this machine and sends EHLO.
func dialSMTP(from, to string) (*smtpDialogue, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: testenv.Patience}
	conn, err := dialer.Dial("tcp", to)
	if err != nil {
		return nil, err
	}
	return greetSMTP(conn)
}

// greetSMTP reads the greeting and sends EHLO.
func greetSMTP(s stream) (d *smtpDialogue, err error) {
	d = &smtpDialogue{conn: s, text: textproto.NewConn(s)}
	if _, err = d.answer(); err == nil {
		d.hello, err = d.say("EHLO client.example.net")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return d, nil
}

// talkSMTP starts a program and has an SMTP session with it.
func talkSMTP(command *exec.Cmd) (*smtpDialogue, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return greetSMTP(pipes{out.(*os.File), in, command})
}

// pipes connect to a program.
type pipes struct {
	*os.File // from it
	to       io.WriteCloser
	command  *exec.Cmd
}

func (p pipes) Write(b []byte) (int, error) { return p.to.Write(b) }

func (p pipes) Close() error { return errors.Join(p.to.Close(), p.command.Wait()) }

// close ends the dialogue properly; the server may have closed earlier.
func (d *smtpDialogue) close() {
	_, _ = d.say("QUIT")
	d.conn.Close()
}

// say sends a command and waits for its answer.
func (d *smtpDialogue) say(command string) (string, error) {
	d.conn.SetDeadline(time.Now().Add(testenv.Patience))
	if _, err := d.conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	return d.answer()
}

// answer returns code and text of the next reply, with lines joined by \n.
func (d *smtpDialogue) answer() (string, error) {
	d.conn.SetDeadline(time.Now().Add(testenv.Patience))
	code, text, err := d.text.ReadResponse(0)
	if _, protocol := err.(*textproto.Error); err != nil && !protocol {
		return "", err
	}
	return fmt.Sprintf("%d %s", code, text), nil
}

// offers reports whether the answer to EHLO contains a keyword.
func (d *smtpDialogue) offers(keyword string) bool {
	for line := range strings.Lines(d.hello) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name == keyword {
			return true
		}
	}
	return false
}

func (d *smtpDialogue) login(user, password string) (string, error) {
	return d.say("AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00"+user+"\x00"+password)))
}

// envelope is the SMTP envelope of a mail.
type envelope struct {
	from       string
	parameters string // of MAIL, after a blank
	rcpts      []string
	pipelined  bool // MAIL, RCPT and DATA are sent at once
}

// begin proceeds to DATA. It reports whether the server accepts content.
func (d *smtpDialogue) begin(e envelope) (ready bool, err error) {
	commands := []string{fmt.Sprintf("MAIL FROM:<%s>%s", e.from, e.parameters)}
	for _, rcpt := range e.rcpts {
		commands = append(commands, fmt.Sprintf("RCPT TO:<%s>", rcpt))
	}
	commands = append(commands, "DATA")
	d.replies = nil
	if e.pipelined {
		if _, err := d.conn.Write([]byte(strings.Join(commands, "\r\n") + "\r\n")); err != nil {
			return false, err
		}
	}
	for i, command := range commands {
		var reply string
		if e.pipelined {
			reply, err = d.answer()
		} else {
			reply, err = d.say(command)
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", command, err)
		}
		d.replies = append(d.replies, reply)
		if i == 0 && reply[0] != '2' && !e.pipelined {
			return false, nil
		}
	}
	return strings.HasPrefix(d.replies[len(d.replies)-1], "354"), nil
}

// write sends a part of the content that ends at the end of a line. Its lines end in LF.
func (d *smtpDialogue) write(part string) error {
	d.conn.SetDeadline(time.Now().Add(testenv.Patience))
	part = strings.ReplaceAll("\n"+part, "\n.", "\n..")[1:]
	_, err := d.conn.Write([]byte(strings.ReplaceAll(part, "\n", "\r\n")))
	return err
}

// end ends the content.
func (d *smtpDialogue) end() error {
	reply, err := d.say(".")
	d.replies = append(d.replies, reply)
	return err
}

// abandon resets a transaction that was not completed.
func (d *smtpDialogue) abandon() error {
	_, err := d.say("RSET")
	return err
}
