module github.com/spambloom/spambloom

go 1.26.0

require (
	github.com/BurntSushi/toml v1.6.0 // the configuration file; it knows the keys that nothing asked for
	github.com/RoaringBitmap/roaring/v2 v2.30.0 // the laboratory: what a delta would take in it
	github.com/coreos/go-systemd/v22 v22.7.0 // sd_notify and socket activation
	github.com/emersion/go-message v0.18.2 // MIME headers, charsets, transfer encodings
	github.com/emersion/go-milter v0.5.0 // the milter protocol
	github.com/gofrs/flock v0.13.2 // one process for one state folder
	github.com/google/renameio/v2 v2.0.2 // files that are replaced whole or not at all
	github.com/klauspost/compress v1.20.4 // archives, PDFs and PNGs, whose tables it takes once; the laboratory: what a delta would take in zstd
	github.com/minio/sha256-simd v1.0.1 // digests, in signature/digest/digest.go only
	github.com/prometheus/client_golang v1.25.0 // metrics
	github.com/redis/go-redis/v9 v9.23.0 // the exchange between sites
	github.com/schollz/progressbar/v3 v3.19.1 // progress of long runs of the command
	github.com/spf13/cobra v1.10.2 // verbs, flags, help and completions
	github.com/spf13/pflag v1.1.0 // the flags of a command, for its man page; those of cmd/internal/suite
	github.com/wlynxg/chardet v1.0.5 // charsets of text whose declared one gives no sense
	go.etcd.io/bbolt v1.5.0 // reports and reporters on disk
	golang.org/x/image v0.48.0 // images in BMP and WebP; names of colours; fonts, in tests
	golang.org/x/net v0.62.0 // the HTML tokenizer; the ASCII form of domains; the Public Suffix List, whose day is in signature/FORMAT.md; in tests, a name server
	golang.org/x/sync v0.25.0 // errgroup: goroutines with an owner
	golang.org/x/sys v0.50.0 // mmap, madvise, socket options
	golang.org/x/term v0.48.0 // whether standard error is a terminal
	golang.org/x/text v0.44.0 // Unicode normal forms, charsets
	golang.org/x/time v0.16.0 // a reporter's rate limit
	gonum.org/v1/gonum v0.17.0 // distributions behind the laboratory's tolerances
	gonum.org/v1/plot v0.17.0 // the laboratory's figures
)

// For tests.
require (
	github.com/alicebob/miniredis/v2 v2.40.0 // a Redis in the test's own process
	github.com/chromedp/cdproto v0.160.2 // chromedp: what it sends to the browser
	github.com/chromedp/chromedp v0.23.1 // the page in a real Chromium
	github.com/emersion/go-smtp v0.26.0 // sends mail into the real Postfix
	github.com/rogpeppe/go-internal v1.16.0 // testscript: the commands' scripts
	go.uber.org/goleak v1.3.0 // no goroutine outlives its test
	pgregory.net/rapid v1.3.0 // properties, checked against models
)

require github.com/prometheus/client_model v0.6.3 // indirect

require (
	codeberg.org/go-fonts/liberation v0.6.0 // indirect
	codeberg.org/go-latex/latex v0.3.0 // indirect
	codeberg.org/go-pdf/fpdf v0.12.0 // indirect
	git.sr.ht/~sbinet/gg v0.8.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/bits-and-blooms/bitset v1.29.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/mschoch/smat v0.2.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/pandatix/go-abnf v0.5.5 // indirect
	github.com/prometheus/common v0.74.0 // indirect
	github.com/prometheus/procfs v0.23.0 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/yuin/gopher-lua v1.1.2 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/exp/typeparams v0.0.0-20261009195045-ca0d7ba23607 // indirect
	golang.org/x/mod v0.43.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	honnef.co/go/tools v0.8.2 // indirect
)

tool honnef.co/go/tools/cmd/staticcheck
