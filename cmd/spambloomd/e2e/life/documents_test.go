package life

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/manual"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// documented is a command of a document, as it is run here: in this order, by one daemon that
// runs alone. The list has other commands between, without which a later one would not show
// anything.
type documented struct {
	call string // as in the document; "": in none
	args string // what is run instead, if the page has a placeholder, or a terminal would ask
	code int
	want string // in the output
}

// A message is message.eml until mail.eml, which bert reported, takes its place.
var inOrder = []documented{
	{"spambloom sign --json", "spambloom sign --json message.eml", 0, `"kind":"text"`},
	{"spambloom report --dry-run", "spambloom report --dry-run message.eml", 0, `"kind":"text"`},
	{"spambloom report message.eml", "", 0, "message.eml: accepted; "},
	{"spambloom check message.eml", "", 0, "message.eml: spam; "},
	{"spambloom explain message.eml", "", 0, "message.eml: spam; "},
	{"spambloom revoke message.eml", "", 0, "message.eml: accepted; "},
	{"spambloom report", "spambloom report", 0, ": accepted; "}, // from standard input
	{"spambloom report -", "", 0, ": accepted; "},
	{"spambloom report --class", "spambloom report --class phish message.eml", 0, ": accepted; "},
	{"spambloom report --attached", "spambloom report --attached forwarded.eml", 0, ": accepted; "},
	{"spambloom report --force", "spambloom report --force message.eml", 0, ": accepted; "},
	{"spambloom never message.eml", "", 0, "message.eml"},

	{"spambloom report /usr/share/doc/spambloom/contrib/sample-spam.eml", "", 0, ": accepted; "},
	{"spambloom check /usr/share/doc/spambloom/contrib/sample-spam.eml", "", 0, ": spam; kind=body"},
	{"spambloom revoke /usr/share/doc/spambloom/contrib/sample-spam.eml", "", 0, ": accepted; "},

	{"", "spambloom report --as bert mail.eml", 0, ": accepted; "},
	{"spambloom explain mail.eml", "", 0, "mail.eml: spam; "},
	{"spambloom reports --message mail.eml", "", 0, "bert"},
	{"spambloom revoke mail.eml", "", 0, ": accepted; "},
	{"", "spambloom report --as bert mail.eml", 0, ": accepted; "},
	{"spambloom reporters --weight 3 postmaster", "", 0, "postmaster"},
	{"spambloom revoke --as postmaster mail.eml", "", 0, ": accepted; "},
	{"spambloom reports --contested", "", 0, "bert"},
	{"spambloom settle spam", "spambloom settle spam mail.eml", 0, "mail.eml: "},
	{"spambloom explain text:c9de52cd45002f87", "spambloom explain ID", 0, "spam"},
	{"spambloom explain ID", "", 0, "spam"},
	{"spambloom revoke text:c9de52cd45002f87", "spambloom revoke ID", 0, ": accepted, "},
	{"spambloom undo --since 7d bert", "spambloom undo --yes --since 7d bert", 0, "bert"},
	{"spambloom undo NAME --since 7d", "spambloom undo --yes bert --since 7d", 0, "bert"},
	{"spambloom reporters --weight 0 bert", "", 0, "bert"},
	{"spambloom reporters --weight", "spambloom reporters bert --weight 1", 0, "bert"},
	{"spambloom reporters NAME --weight 0", "spambloom reporters bert --weight 0", 0, "bert"},
	{"spambloom reporters trap:archive --weight 1", "", 0, "trap:archive"},
	{"spambloom report --yes --as trap:archive FOLDER", "spambloom report --yes --as trap:archive spam", 0, ": accepted; "},
	{"spambloom undo trap:NAME --since TIME", "spambloom undo --yes trap:archive --since 2026-11-20", 0, "trap:archive"},

	{"spambloom status", "", 0, "This site works alone."},
	{"spambloom status --all", "", 0, "This site works alone."},
	{"spambloom status --filters", "", 0, "PERIOD"},
	{"spambloom status --json", "", 0, `"site":"mx1"`},
	{"spambloom sites", "", 0, ""},
	{"spambloom doctor", "spambloom doctor -c CONFIG --data STATE", ofMachine, "OK"},
	{"spambloom backup /var/backups/spambloom.tar", "", 0, ""},
	{"spambloom backup /var/backups/before-upgrade.tar", "", 0, ""},
	{"spambloom backup /var/backups/before-renaming.tar", "", 0, ""},
	{"spambloom backup -", "", 0, "backup.json"},
	{"spambloom token store1.example.org", "", 0, "store1.example.org"},
	{"spambloom keygen --federation /var/lib/spambloom/federation-2.key", "", 0, ""},
	{"spambloom keygen --public", "spambloom keygen --public STATE/site.key", 0, "[[peer]]"},
	{"spambloom keygen --public FILE", "spambloom keygen --public STATE/site.key", 0, "[[peer]]"},
	{"spambloom join", "spambloom join -c CONFIG --data STATE", 0, "spambloom-request-1:"},
	{"spambloom replay --spam spam --ham ham --keys 8", "", 0, "spam"},
	{"spambloomd -t", "spambloomd -t -c CONFIG --data STATE", 0, "is valid"},
	{"spambloomd -t -c FILE", "spambloomd -t -c CONFIG --data STATE", 0, "is valid"},
}

// elsewhere are the commands that another test runs.
var elsewhere = map[string]string{
	"spambloomd --restore - --data /var/lib/spambloom": "TestRestoreYesterday",
	"spambloom setup":                                          "TestSetupPostfix",
	"spambloom setup --yes":                                    "TestSetupPostfix",
	"spambloom setup --yes --to you@example.org":               "TestSetupPostfix",
	"spambloom setup --remove --yes":                           "TestSetupPostfix",
	"spambloom invite --with-password":                         "TestGuide",
	"spambloom invite --with-password spambloom-request-1:...": "TestGuide",
	"spambloom join spambloom-invitation-1:...":                "TestJoinAfterRunningAlone",
	"spambloom drop mx1":                                       "TestRename",
	"spambloom drop --yes mx1":                                 "TestRename",
	"spambloom drop --yes mx2":                                 "TestCommandsForRedis",
	"spambloom mute --undo mx1":                                "TestRename",
	"spambloom drop mx2":                                       "TestRename",
	"spambloom mute --undo mx2":                                "TestRename",
	"spambloom mute mx9":                                       "TestRename",
	"spambloom mute --undo mx9":                                "TestRename",
	"spambloom drop mx9":                                       "TestRename",
	"spambloom mute SITE":                                      "TestRename",
	"spambloom mute --undo SITE":                               "TestRename",
	"spambloom drop SITE":                                      "TestRename",
}

// noCommands begin like one.
var noCommands = map[string]string{
	"spambloom client token, version 1": "a text that is hashed",
}

// ofMachine is an exit code that depends on the clock and the memory of this machine.
const ofMachine = -1

// Every command in every document does what the page says, or is run by another test: those
// in blocks, and those in sentences that have arguments.
func TestCommandsOfDocuments(t *testing.T) {
	t.Parallel()
	testenv.Servers(t)
	unknown := inDocuments(t)
	known := func(call string) {
		if _, ok := unknown[call]; !ok && call != "" {
			t.Errorf("no document has: %s", call)
		}
	}
	for call := range noCommands {
		known(call)
	}
	for call, test := range elsewhere {
		known(call)
		if !isTest(t, test) {
			t.Errorf("%s: there is no test %s", call, test)
		}
	}
	run := newDocumentsSite(t)
	for _, d := range inOrder {
		known(d.call)
		run(d)
	}
	for _, d := range inOrder {
		delete(unknown, d.call)
	}
	for call, page := range unknown {
		if elsewhere[call] == "" && noCommands[call] == "" {
			t.Errorf("%s: no test runs: %s", page, call)
		}
	}
}

// inDocuments returns the commands, each with one of its pages. A name without arguments in a
// sentence is none.
func inDocuments(t *testing.T) map[string]string {
	t.Helper()
	pages := make(map[string]string)
	for _, program := range []string{"spambloom", "spambloomd"} {
		calls, err := manual.Commands(os.DirFS(harness.Repository), program)
		testenv.Check(t, err)
		for _, c := range calls {
			name, isCommand := path.Base(c.Page), c.IsWhole || len(c.Args) > 1
			if name != "CHANGELOG.md" && name != "FORMAT.md" && isCommand && len(c.Args) > 0 {
				pages[program+" "+strings.Join(c.Args, " ")] = c.Page
			}
		}
	}
	return pages
}

// notRun are the blocks of the guide's pages that no test runs, by their first line, and why.
var notRun = map[string]string{
	"apt install systemd-timesyncd": "the machines of TestGuide reach no mirror of Debian",
}

// TestGuide runs every block of the guide that calls other programs than ours: ours are run here.
func TestBlocksOfGuide(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(harness.Repository, "cmd/spambloomd/e2e/packaging/guide_test.go"))
	testenv.Check(t, err)
	run := regexp.MustCompile(`(?:\.page\(|PageBlock\([\w.]+, )"(guide/[^"]+)", "([^"]+)"\)`).FindAllStringSubmatch(string(source), -1) // page and beginning of each block
	pages, err := filepath.Glob(filepath.Join(harness.Repository, "contrib/guide/*.md"))
	testenv.Check(t, err)
	blocks, ours := 0, regexp.MustCompile(`(?m)^(spambloom .*)?$\n?`)
	for _, path := range pages {
		page := "guide/" + filepath.Base(path)
		for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(harness.GuidePage(t, page), -1) {
			if ours.ReplaceAllString(m[1], "") == "" {
				continue
			}
			blocks++
			first, _, _ := strings.Cut(m[1], "\n")
			isRun := slices.ContainsFunc(run, func(r []string) bool { return r[1] == page && strings.HasPrefix(m[1], r[2]) })
			if isRun == (notRun[first] != "") {
				t.Errorf("%s: %q: run is %v, and in the list of those not run is %q", page, first, isRun, notRun[first])
			}
		}
	}
	if blocks < 5 {
		t.Errorf("only %d blocks call other programs", blocks)
	}
}

// isTest reports whether an end-to-end test has the name.
func isTest(t *testing.T, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(harness.Repository, "cmd/spambloomd/e2e/*/*_test.go"))
	testenv.Check(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		testenv.Check(t, err)
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}

// newDocumentsSite starts the daemon, and returns a function that runs a command in a folder
// with the files that the documents name.
func newDocumentsSite(t *testing.T) (run func(documented)) {
	t.Helper()
	s := harness.NewSite(t, "mx1", harness.KeyFile(t, [32]byte{1}), "").Start()
	dir := testenv.Dir(t)
	message := harness.Message(harness.Text())
	for name, text := range map[string]string{
		"message.eml": message, "mail.eml": harness.Message(harness.Text()), "contrib/sample-spam.eml": "",
		"forwarded.eml": attached(harness.Message(harness.Text())), "spam/1": harness.Message(harness.Text()), "ham/1": harness.Message(harness.Text()),
	} {
		testenv.Check(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		harness.Write(t, filepath.Join(dir, name), text)
	}
	harness.Write(t, filepath.Join(dir, "contrib/sample-spam.eml"), harness.GuidePage(t, "sample-spam.eml"))
	var id string
	return func(d documented) {
		t.Helper()
		here := strings.NewReplacer("/usr/share/doc/spambloom/", "", "/var/backups", ".", "/etc/spambloom", ".", "/var/lib/spambloom", ".",
			"CONFIG", filepath.Join(s.Dir, "spambloom.toml"), "STATE", filepath.Join(s.Dir, "state"), "ID", id)
		args := d.args
		if args == "" {
			args = d.call
		}
		words := strings.Fields(here.Replace(args))
		cmd := exec.CommandContext(t.Context(), harness.Program(t, words[0]), words[1:]...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(message)
		cmd.Env = append(os.Environ(), "SPAMBLOOM_CONTROL="+s.Control, "SPAMBLOOM_QUEUE="+filepath.Join(dir, "queue"))
		out, err := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		if (code != d.code && (d.code != ofMachine || code > 1)) || !strings.Contains(string(out), d.want) {
			t.Errorf("%s: exit code %d (%v), want %d and %q:\n%s", args, code, err, d.code, d.want, out)
		}
		if found := regexp.MustCompile(`id=.*(text:[0-9a-f]{16})`).FindSubmatch(out); found != nil {
			id = string(found[1])
		}
	}
}

// attached returns a letter with a message attached.
func attached(message string) string {
	return "From: anna@example.test\r\nSubject: spam\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n" + message + "\r\n--b--\r\n"
}
