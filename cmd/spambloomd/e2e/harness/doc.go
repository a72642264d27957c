// Package harness starts and stops the real programs and servers of the end-to-end tests.
// Site is one spambloomd; Postfix and Redis are servers with their own folders and ports;
// packages sendmail, dovecot and rspamd have the others. All of them end with their test, even
// if it is killed.
// Message and Text create mail, Site.CLI and Execute run commands.
//
// The tests are grouped by subject:
//
//	e2e/mta         mail through Postfix and Sendmail, policies, verifiers, logs
//	e2e/mailbox     users: Dovecot, mutt, procmail, report addresses, traps, access
//	e2e/federation  several sites and a Redis
//	e2e/faults      kill -9, full and broken disks, bad clients, panics, the soak
//	e2e/life        start, reload and stop, systemd, sockets passed by systemd
//	e2e/packaging   make install, the Debian package in a Debian, archives, go install
//	e2e/figures     the figures of contrib/benchmarks.md (tag figures; make bench-milter)
//
// A new mail case is a file in e2e/mta/testdata/mta, whose README lists the commands; it
// runs with Postfix and Sendmail, on TCP and on a unix socket. A test in Go has about ten
// lines:
//
//	func TestReportedMailIsTagged(t *testing.T) {
//		t.Parallel()
//		s := harness.NewSite(t, "one", "", "").Start()
//		p := harness.StartPostfix(t, "one", s.Milter)
//		body := harness.Text()
//		first := p.Send(harness.Message(body))
//		if r := s.CLI("report", first.Path); r.Code != 0 {
//			t.Fatalf("report: %+v", r)
//		}
//		harness.ExpectVerdict(t, p.Send(harness.Message(body)), "spam", 2, "one")
//	}
//
// Each package has a TestMain that calls Main. The programs are built once for all
// packages, with the race detector, and a detected race fails the test. A test whose
// machine lacks a server is skipped (see package testenv).
//
// Waits end by an event, with the limit testenv.Patience, never after a guessed time. A
// test that drives the queue of a mail server repeats its request until it sees the result:
// Postfix.Drive. Long forms of tests are for make soak (testenv.Soak).
package harness
