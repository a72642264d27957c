# make run     starts the daemon on loopback and says what to type next
# make test    installs what the tests need, checks the sources, runs everything
# make build   bin/spambloomd, bin/spambloom and bin/bloomlab
# make bench   the benchmarks
# make bench-exchange  the way between sites: latency, bytes, a new site joining
# make bench-command   the command, from start to exit
# make bench-milter    the daemon under load: alone, through Postfix, beside rspamd; CORPUS=PATH
# make bench-start     the start with a full database; 1 GB in the cache folder
# make bench-signatures  which varied copies of a spam are caught; CORPUS=PATH
# make lab     every experiment of the papers, 1,000 rounds: cmd/bloomlab/RESULTS.txt
# make soak    the long fault tests: Redis away for a minute, sixty times kill -9,
#              five daemons for ten minutes amid faults of all kinds; 200 milter
#              connections for half an hour (or SPAMBLOOM_SOAK_MINUTES)
# make fuzz    every fuzz target for 30 seconds
# make generate  the files made from sources: contrib/spambloom.toml, contrib/man

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS  = -X github.com/spambloom/spambloom/cmd/internal/version.linked=$(VERSION)

# Where Sendmail is unpacked for its tests: its package and Postfix' exclude each
# other.
export SPAMBLOOM_SENDMAIL ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spambloom/sendmail

.PHONY: run build test tools sendmail check bench bench-signatures bench-command bench-exchange bench-milter bench-start lab soak fuzz generate

run: build
	@exec bin/spambloomd --data spambloom-data

build:
	$(GO) build -ldflags "$(LDFLAGS)" -o bin/ ./cmd/...

# The checks stand before the tests, so that go test has the last word. The package that
# waits most for its servers begins, while others have the processors.
test: tools sendmail check
	$(GO) test -race -count=1 ./cmd/spambloomd ./...

check:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "gofmt -w is wanted by: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# What the tests use beside Go, as COMMAND:DEBIAN-PACKAGES. Where something is
# missing and cannot be installed, its tests skip and say so.
TOOLS = cc:gcc,libc6-dev postfix:postfix redis-server:redis-server xz:xz-utils \
	dovecot:dovecot-imapd sievec:dovecot-sieve mutt:mutt procmail:procmail curl:curl docker-compose:docker-compose systemd-analyze:systemd m4:m4 \
	groff:groff-base zsh:zsh fish:fish miltertest:miltertest opendkim:opendkim \
	opendmarc:opendmarc,dbconfig-no-thanks policyd-spf:postfix-policyd-spf-python saslpasswd2:sasl2-bin,libsasl2-modules

tools:
	@PATH="$$PATH:/usr/sbin:/sbin"; missing=; \
	for tool in $(TOOLS); do \
		command -v "$${tool%%:*}" >/dev/null || missing="$$missing $$(echo "$${tool#*:}" | tr , ' ')"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections; \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing; \
	else \
		echo "make test: not installed, their tests are skipped; install as root:$$missing"; \
	fi

# Sendmail itself is only unpacked; its libraries are installed.
sendmail:
	@program="$$SPAMBLOOM_SENDMAIL/usr/libexec/sendmail/sendmail"; \
	if [ -x "$$program" ] && ! ldd "$$program" | grep -q 'not found'; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		export DEBIAN_FRONTEND=noninteractive; \
		mkdir -p "$$SPAMBLOOM_SENDMAIL" && cd "$$SPAMBLOOM_SENDMAIL" && apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends $$(apt-cache depends sendmail-bin | sed -n 's/^ *Depends: \(lib.*\)/\1/p') && \
		apt-get download -qq -o APT::Sandbox::User=root sendmail-bin sendmail-cf && \
		for package in sendmail-*.deb; do dpkg -x "$$package" . && rm "$$package" || exit; done; \
	else \
		echo "make test: no Sendmail in $$SPAMBLOOM_SENDMAIL, its tests are skipped; root on Debian has it unpacked there"; \
	fi

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# A folder with spam and ham in it, or such a .tar.xz.
CORPUS ?= ../shared/corpora/spamassassin.tar.xz

bench-signatures: build
	bin/bloomlab signatures --corpus $(CORPUS)

# The programs are built as they are used, without the race detector.
bench-command:
	$(GO) test -tags figures -count=1 -v -run TestFigures ./cmd/spambloom

# rspamd is compared with where it is installed (Debian: rspamd, without recommends).
bench-milter: tools
	SPAMBLOOM_FIGURES=1 SPAMBLOOM_CORPUS=$(abspath $(CORPUS)) $(GO) test -count=1 -timeout 30m -v \
		-run 'TestMilterFigures|TestPostfixFigures|TestRspamdFigures' ./cmd/spambloomd

bench-exchange: tools
	SPAMBLOOM_FIGURES=1 $(GO) test -count=1 -timeout 30m -v -run TestExchangeFigures ./cmd/spambloomd
	SPAMBLOOM_FIGURES=1 $(GO) test -count=1 -timeout 30m -v -run TestNewSiteJoins ./bloomdb/exchange

# The first makes the full state folders, once a day, and measures the database alone.
bench-start:
	$(GO) test -tags figures -count=1 -timeout 30m -v -run TestStartFigures ./bloomdb
	SPAMBLOOM_FIGURES=1 $(GO) test -count=1 -timeout 30m -v -run TestStartFigures ./cmd/spambloomd

lab: build
	bin/bloomlab run all --rounds 1000 >bin/RESULTS.txt
	mv bin/RESULTS.txt cmd/bloomlab/RESULTS.txt

soak: tools
	SPAMBLOOM_SOAK=1 $(GO) test -race -count=1 -timeout 90m ./bloomdb ./milter ./reporting/... ./cmd/spambloom ./cmd/bloomlab/replica
	SPAMBLOOM_SOAK=1 $(GO) test -race -count=1 -timeout 90m -v -run 'TestRedisAway|TestKillLosesNoReport|TestFederationLosesNothing|TestMailSoak' ./cmd/spambloomd

fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime 30s -fuzzminimizetime 100x $$pkg; \
		done; \
	done

generate:
	$(GO) generate ./...
