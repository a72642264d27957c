# make run     starts the daemon on loopback, shows one mail being tagged, and says what to
#              type next
# make test    installs what the tests need, checks the sources, runs everything
# make test-packages  the Debian package, tarballs and go install: built twice, installed, upgraded
#              and purged in a Debian of their own; the guide's commands on two such machines,
#              booted and joined; some minutes
# make quick   the tests that need neither real servers nor the race detector
# make flakes  the whole suite again and again, each time under another condition: beside
#              a load, on one core, on a slow disk, with the race detector, shuffled, ...;
#              ROUNDS=10 PACKAGES=./... ONLY="slow disk"
# make build   bin/spambloomd, bin/spambloom and bin/bloomlab
# make install the programs, units, man pages, completions and an example configuration;
#              PREFIX=/usr/local, DESTDIR= for packagers, ARCH= for another processor
# make deb     bin/spambloom_VERSION_ARCH.deb, for Debian 12 and later
# make tarballs  bin/spambloom-VERSION-linux-ARCH.tar.gz for amd64 and arm64, and SHA256SUMS
# make bench   the benchmarks
# make bench-exchange  the way between sites: latency, bytes, a new site joining
# make bench-command   the command, from start to exit
# make bench-milter    the daemon under load: alone, through Postfix, beside rspamd; CORPUS=PATH
# make bench-start     the start with a full database; 1 GB in the cache folder
# make bench-signatures  which varied copies of a spam are caught; CORPUS=PATH, and PAGES=PATH for varied pages
# make bench-commonness  what learning from unreported mail changes: archives, newsletters, a seed; half an hour
# make bench-cut         reported spam and ham judged by their beginnings
# make bench-missed      what missed spams have in common with earlier ones
# make lab     every experiment of the papers, 1,000 rounds: cmd/bloomlab/RESULTS.txt
# make soak    the long fault tests: Redis away for a minute, sixty times kill -9,
#              five daemons for ten minutes amid faults of all kinds; 200 milter
#              connections for half an hour (or SPAMBLOOM_SOAK_MINUTES), 1,000 hostile ones
#              for five minutes; 299 idle sessions at Postfix; 2,000 schedules of a simulated
#              federation
# make fuzz    every fuzz target for 30 seconds
# make generate  the files made from sources: contrib/spambloom.toml, contrib/man,
#                contrib/metrics.md, contrib/prometheus, contrib/grafana
# make pictures  the pictures of the page in contrib/pictures; PICTURES=FOLDER: of each page,
#                at 360 and 1,280 pixels, light and dark, empty, small and busy

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS  = -X github.com/spambloom/spambloom/cmd/internal/version.linked=$(VERSION)

# Where mail servers are unpacked for their tests: their packages and Postfix' exclude each
# other.
CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spambloom
export SPAMBLOOM_SENDMAIL  ?= $(CACHE)/sendmail
export SPAMBLOOM_EXIM      ?= $(CACHE)/exim
export SPAMBLOOM_OPENSMTPD ?= $(CACHE)/opensmtpd
export SPAMBLOOM_HARAKA    ?= $(CACHE)/haraka

.PHONY: install staged deb tarballs pictures run build test quick flakes tools check bench bench-signatures bench-command bench-exchange bench-milter bench-start bench-commonness bench-cut bench-missed lab soak fuzz generate

run:
	$(GO) build -ldflags "$(LDFLAGS)" -o bin/ ./cmd/spambloomd ./cmd/spambloom ./cmd/internal/firstmail
	@bin/firstmail 127.0.0.1:8899 bin/spambloom unix:spambloom-data/spambloom.sock contrib/sample-spam.eml & \
	exec bin/spambloomd --data spambloom-data

build:
	$(GO) build -ldflags "$(LDFLAGS)" -o bin/ ./cmd/spambloomd ./cmd/spambloom ./cmd/bloomlab

# Where things are installed, and for which processor. A package is built from what is
# installed below DESTDIR. Two builds of a commit have the same bytes.
PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR    ?=
ARCH       ?= $(shell $(GO) env GOARCH)
RELEASES    = amd64 arm64

export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)

# Completions are made by a program for this machine's processor.
install:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) $(GO) build -trimpath -buildvcs=false -ldflags "-s -w $(LDFLAGS)" -o bin/linux-$(ARCH)/ ./cmd/spambloomd ./cmd/spambloom
	$(GO) build -o bin/ ./cmd/spambloom
	ROOT="$(DESTDIR)" PREFIX="$(PREFIX)" SYSCONFDIR="$(SYSCONFDIR)" contrib/install bin/linux-$(ARCH) bin/spambloom

# An empty folder for what is installed, whatever PREFIX the caller has set.
STAGE = bin/stage-$(ARCH)
staged:
	rm -rf $(STAGE)
	$(MAKE) install PREFIX=$(STAGED) SYSCONFDIR=/etc DESTDIR=$(STAGE) ARCH=$(ARCH)

deb:
	$(MAKE) staged STAGED=/usr ARCH=$(ARCH)
	contrib/debian/build $(STAGE) $(ARCH) "$(VERSION)" bin

tarballs:
	for arch in $(RELEASES); do \
		$(MAKE) staged STAGED=/usr/local ARCH=$$arch && \
		contrib/tarball bin/stage-$$arch spambloom-$(VERSION)-linux-$$arch bin || exit; \
	done
	cd bin && sha256sum $(RELEASES:%=spambloom-$(VERSION)-linux-%.tar.gz) >SHA256SUMS

# go test as it is run here. Only a defect takes as long as the timeout. Nobody debugs these
# programs, so they are linked without symbols. Two packages more than there are processors run
# at a time: many wait for servers.
SUITE   = $(GO) run ./cmd/internal/suite
TESTING = -count=1 -timeout 60m
BUSY    = -vet=off -ldflags=-s -p $$(($$(nproc) + 2))

# The checks stand before the tests, so that the runner has the last word; they have vetted
# everything. They run while the packages are fetched and unpacked, which is one process; but the
# race detector needs a C compiler. The packages that wait most for their servers begin, while
# others have the processors, and then those that take long: none of them is left to run alone at
# the end.
test:
	@command -v cc >/dev/null || .ci/tools
	@$(MAKE) --no-print-directory -j2 tools check
	$(SUITE) test -race $(BUSY) $(TESTING) ./cmd/spambloomd/e2e/... ./reporting/page ./signature ./bloomdb ./cmd/spambloom ./...

test-packages:
	@.ci/tools packages
	$(SUITE) test $(TESTING) -tags packages ./cmd/spambloomd/e2e/packaging

quick:
	$(SUITE) test -short $(BUSY) $(TESTING) ./cmd/spambloom ./bloomdb ./cmd/spambloomd ./...

ROUNDS   ?= 10
PACKAGES ?= ./...

flakes: tools
	$(SUITE) flakes --rounds $(ROUNDS) $(if $(ONLY),--only "$(ONLY)") -- $(BUSY) $(TESTING) $(PACKAGES)

# Both read what the compiler says of a package, and the compiler needs most of the time. With
# the race detector it does that work once, for the tests as well. The compiler, vet and staticcheck
# run for seconds and collect garbage for a tenth to a quarter of them.
check: export GOGC = 200
check:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "gofmt -w is wanted by: $$unformatted"; exit 1; fi
	$(GO) vet -race -tags figures,packages ./...
	GOFLAGS="$$GOFLAGS -race" $$($(GO) tool -n staticcheck) ./...

# What the tests use beside Go. What is missing and cannot be installed is named, and
# its tests skip.
tools:
	@.ci/tools

bench:
	$(GO) test -run '^$$' -bench . -skip NewSiteJoins/weeks -benchmem ./...

# A folder with spam and ham in it, or such a .tar.xz.
CORPUS ?= ../shared/corpora/spamassassin.tar.xz

# Mail whose pages are varied.
PAGES ?= ../shared/corpora/lists-part.tar.xz

bench-signatures: build
	bin/bloomlab signatures --corpus $(CORPUS)
	bin/bloomlab signatures --corpus $(PAGES) --messages 400 \
		--kinds page-words,page-few-words,page-pictures,page-rows,page-wrappers,page-classes,page-attributes,page-links,page-redirects,page-poison

# The programs are built as they are used, without the race detector.
bench-command:
	$(GO) test -tags figures -count=1 -v -run TestFigures ./cmd/spambloom

# rspamd is compared with where it is installed (Debian: rspamd, without recommends).
bench-milter: tools
	SPAMBLOOM_CORPUS=$(abspath $(CORPUS)) $(GO) test -tags figures -count=1 -timeout 30m -v \
		-run 'TestMilterFigures|TestPostfixFigures|TestRspamdFigures' ./cmd/spambloomd/e2e/figures

bench-exchange: tools
	$(GO) test -tags figures -count=1 -timeout 30m -v -run TestExchangeFigures ./cmd/spambloomd/e2e/figures
	$(GO) test -timeout 60m -run '^$$' -bench 'Latency|CatchUp|NewSiteJoins' ./bloomdb/exchange

# The first makes the full state folders, once a day, and measures the database alone.
bench-start:
	$(GO) test -tags figures -count=1 -timeout 30m -v -run TestStartFigures ./bloomdb
	$(GO) test -tags figures -count=1 -timeout 30m -v -run TestStartFigures ./cmd/spambloomd/e2e/figures

# Archives are those in CORPORA, or else the ones beside the repository.
bench-commonness:
	$(GO) test -tags figures -count=1 -v -run 'TestNewsletterFigures|TestNewSiteLetterFigures' ./bloomdb
	SPAMBLOOM_CORPORA=$(CORPORA) $(GO) test -tags figures -count=1 -timeout 120m -v -run 'TestCommonnessFigures|TestCampaignFigures|TestSeedFigures|TestNewSiteFigures|TestNoticeFigures' ./cmd/internal/replay

# They read the same archives.
bench-cut:
	SPAMBLOOM_CORPORA=$(CORPORA) $(GO) test -tags figures -count=1 -v -run TestCutFigures ./cmd/internal/replay

bench-missed:
	SPAMBLOOM_CORPORA=$(CORPORA) $(GO) test -tags figures -count=1 -timeout 60m -v -run 'TestMissedFigures|TestGrowthFigures' ./cmd/internal/replay

lab: build
	bin/bloomlab run all --rounds 1000 >bin/RESULTS.txt
	mv bin/RESULTS.txt cmd/bloomlab/RESULTS.txt

soak: tools
	SPAMBLOOM_SOAK=1 $(GO) test -race -count=1 -timeout 180m ./bloomdb/... ./milter ./reporting/... ./cmd/spambloom ./cmd/spambloomd ./cmd/bloomlab ./cmd/bloomlab/replica
	SPAMBLOOM_SOAK=1 $(GO) test -race -count=1 -timeout 90m -v -run 'TestRedisAway|TestKillLosesNoReport|TestFederationLosesNothing|TestMailSoak|TestRestartsLoseNoMail|TestMemoryOfThousandConnections|TestIdleSessions' ./cmd/spambloomd/e2e/...

fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime 30s -fuzzminimizetime 100x $$pkg; \
		done; \
	done

generate:
	$(GO) generate ./...

PICTURES ?= guide

pictures: tools
	SPAMBLOOM_PICTURES=$(PICTURES) $(GO) test -count=1 -run Pictures ./reporting/page
