package setup

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spambloom/spambloom/cmd/spambloom/change"
)

// serverSteps make the mail server ask the daemon, or stop asking it.
func (m *machine) serverSteps() (plan, error) {
	listen, _ := m.listen()
	spec, err := m.spec(listen)
	if err != nil {
		return nil, err
	}
	at := m.server.Find(append([]string{listen}, m.config.Milter.Listen...))
	if at >= 0 && !m.Remove { // doctor checks whether it is the first one
		return nil, nil
	}
	if m.server.Override != "" && !m.Remove {
		return nil, invalid("remove that from master.cf, or name the daemon there: contrib/postfix.md", "in master.cf, %s: a list of milters in main.cf would have no effect", m.server.Override)
	}
	f, err := change.Read(m.server.File)
	if err != nil {
		return nil, fault(err)
	}
	edit, reload := m.editPostfix, m.reloadPostfix
	if m.server.Queue == "" {
		edit, reload = m.editSendmail, m.reloadSendmail
	}
	if f.New, err = edit(f.Old, spec); err != nil {
		return nil, err
	}
	switch isBehind := m.server.Queue == "" && ownFilter.Match(f.New) != (at >= 0); {
	case f.IsChanged():
		return append(plan{m.write(f)}, reload()...), nil
	case m.Remove && at >= 0 && !isBehind: // without its socket, the server may refuse all mail
		return nil, invalid("remove it there, reload "+m.server.Name+", then run setup --remove again", "%s asks the daemon by an entry that setup did not write: %s", m.server.Name, m.server.Milters[at].Spec)
	case isBehind: // an earlier setup ended between the two files of Sendmail
		return reload(), nil
	}
	return nil, nil
}

// editPostfix puts the daemon before the other milters of main.cf, or removes it there. The
// last line with the parameter is the one in effect.
func (m *machine) editPostfix(main []byte, spec string) ([]byte, error) {
	text, entry := string(main), "{ "+spec+", default_action=accept }"
	if m.Remove {
		text = regexp.MustCompile(regexp.QuoteMeta(entry)+`(,[ \t]*)?`).ReplaceAllLiteralString(text, "")
		// The line that setup added, unless another one continues it, also after comments.
		return []byte(regexp.MustCompile(`(?m)^smtpd_milters = *\n((?:[ \t]*(?:#.*)?\n)*)([^ \t\n#]|\z)`).ReplaceAllString(text, "$1$2")), nil
	}
	lines := regexp.MustCompile(`(?m)^smtpd_milters[ \t]*=[ \t]*`).FindAllStringIndex(text, -1)
	if lines == nil {
		return []byte(withBreak(text) + "smtpd_milters = " + entry + "\n"), nil
	}
	if len(m.server.Milters) > 0 {
		entry += ", "
	}
	end := lines[len(lines)-1][1]
	return []byte(text[:end] + entry + text[end:]), nil
}

func withBreak(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

func (m *machine) reloadPostfix() plan {
	switch {
	case m.Reload != "":
		return plan{shell(m.Reload)}
	case m.Postfix != "":
		return plan{command("postfix -c "+m.Postfix+" reload", "postfix", "-c", m.Postfix, "reload")}
	}
	return plan{command("postfix reload", "postfix", "reload")}
}

// Lines of sendmail.mc.
var (
	listOfFilters = regexp.MustCompile("(?m)^define\\(`confINPUT_MAIL_FILTERS', *`")
	ownFilter     = regexp.MustCompile("(?m)^(INPUT_)?MAIL_FILTER\\(`spambloom'")
	firstFilter   = regexp.MustCompile(`(?m)^(INPUT_MAIL_FILTER|MAIL_FILTER|MAILER_DEFINITIONS|MAILER)\(`)
	childrenLimit = regexp.MustCompile("(?m)^define\\(`confMAX_DAEMON_CHILDREN'")
)

// fewerChildren bounds the sessions of Sendmail, which has no bound by default. Each, however idle, holds a
// connection to the daemon, and beyond milter.max_connections_per_client (400) mail passes unjudged.
const fewerChildren = "define(`confMAX_DAEMON_CHILDREN', `200')dnl spambloom takes 400\n"

// editSendmail puts the daemon before the other filters of sendmail.mc, or removes it there.
func (m *machine) editSendmail(mc []byte, spec string) ([]byte, error) {
	text, line := string(mc), "(`spambloom', `S="+spec+", T=C:10s;S:30s;R:30s;E:5m')dnl\n"
	if m.Remove {
		for _, own := range []string{"INPUT_MAIL_FILTER" + line, "MAIL_FILTER" + line, fewerChildren} {
			text = strings.ReplaceAll("\n"+text, "\n"+own, "\n")[1:]
		}
		return []byte(regexp.MustCompile("(?m)^(define\\(`confINPUT_MAIL_FILTERS', *`)spambloom, ").ReplaceAllString(text, "$1")), nil
	}
	if ownFilter.MatchString(text) { // a second one of that name is an error of sendmail.cf
		return mc, nil
	}
	at := firstFilter.FindStringIndex(text)
	list := listOfFilters.FindAllStringIndex(text, -1)
	macro := "INPUT_MAIL_FILTER"
	if list != nil {
		macro = "MAIL_FILTER" // the list has the order
		end := list[len(list)-1][1]
		text = text[:end] + "spambloom, " + text[end:]
		at = firstFilter.FindStringIndex(text)
	}
	if at == nil {
		return nil, invalid("add the line of contrib/sendmail.md by hand", "%s has no line with MAILER", filepath.Base(m.server.File))
	}
	lines := macro + line
	if !childrenLimit.MatchString(text) {
		lines = fewerChildren + lines
	}
	return []byte(text[:at[0]] + lines + text[at[0]:]), nil
}

func (m *machine) reloadSendmail() plan {
	dir := filepath.Dir(m.server.File)
	p := plan{command("make -C "+dir, "make", "-C", dir)}
	switch {
	case m.Reload != "":
		return append(p, shell(m.Reload))
	case m.hasSystemd:
		return append(p, command("systemctl restart sendmail", "systemctl", "restart", "sendmail"))
	}
	return append(p, manual("restart Sendmail"))
}
