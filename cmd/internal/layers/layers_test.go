package layers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

const module = "github.com/spambloom/spambloom/"

// repository is the root of the source tree.
var repository = os.DirFS("../../..")

// allowed lists every package with the packages of this module that it may import. milter,
// reporting and bloomdb/exchange never import each other; they are connected by the
// database. Only commands use the configuration. The packages below bloomdb stand in
// the order of their imports.
var allowed = map[string][]string{
	"signature/work":    {},
	"signature/ascii":   {},
	"signature/span":    {},
	"signature/digest":  {},
	"signature/suffix":  {},
	"signature/picture": {"signature/digest"},
	"signature/sketch":  {"signature/digest", "signature/picture"},
	"signature/mail":    {"signature/work", "signature/ascii"},
	"signature/page":    {"signature/work", "signature/ascii", "signature/span"},
	"signature/visible": {"signature/work", "signature/ascii", "signature/span", "signature/mail", "signature/page"},
	"signature/words":   {"signature/work", "signature/span", "signature/digest", "signature/sketch", "signature/mail"},
	"signature/links":   {"signature/work", "signature/ascii", "signature/suffix", "signature/mail", "signature/span", "signature/page", "signature/visible"},
	"signature/guard":   {"signature/mail", "signature/words"},
	"signature/archive": {"signature/work", "signature/digest"},
	"signature":         {"signature/work", "signature/ascii", "signature/span", "signature/digest", "signature/picture", "signature/sketch", "signature/mail", "signature/page", "signature/visible", "signature/words", "signature/links", "signature/guard", "signature/archive"},

	"signature/sketch/sketchtest":   {"signature/digest", "signature/sketch"},
	"signature/archive/archivetest": {},

	"bloomdb/filter":             {},
	"bloomdb/filter/coded":       {"bloomdb/filter"},
	"bloomdb/filter/generalized": {"bloomdb/filter"},
	"bloomdb/filter/iterative":   {"bloomdb/filter"},
	"bloomdb/filter/filtertest":  {"bloomdb/filter"},

	"bloomdb/layout":     {"signature", "bloomdb/filter"},
	"bloomdb/folder":     {"bloomdb/layout"},
	"bloomdb/keyring":    {"signature", "bloomdb/filter", "bloomdb/layout", "bloomdb/folder"},
	"bloomdb/clock":      {"bloomdb/folder"},
	"bloomdb/commonness": {"bloomdb/filter", "bloomdb/layout", "bloomdb/folder", "bloomdb/keyring"},
	"bloomdb/journal":    {"signature", "bloomdb/filter", "bloomdb/layout", "bloomdb/folder", "bloomdb/clock"},
	"bloomdb/wire":       {"bloomdb/filter", "bloomdb/filter/coded", "bloomdb/filter/generalized", "bloomdb/layout", "bloomdb/folder", "bloomdb/keyring", "bloomdb/clock"},
	"bloomdb/mask":       {"bloomdb/filter", "bloomdb/layout", "bloomdb/folder", "bloomdb/journal"},
	"bloomdb/store":      {"bloomdb/filter", "bloomdb/filter/coded", "bloomdb/layout", "bloomdb/folder", "bloomdb/keyring", "bloomdb/journal", "bloomdb/mask", "bloomdb/wire"},
	"bloomdb/never":      {"signature", "bloomdb/filter", "bloomdb/layout", "bloomdb/folder", "bloomdb/keyring", "bloomdb/journal"},
	"bloomdb/recent":     {"bloomdb/filter", "bloomdb/filter/iterative", "bloomdb/layout"},
	"bloomdb/sketch":     {"signature", "bloomdb/filter", "bloomdb/layout", "bloomdb/keyring", "bloomdb/commonness", "bloomdb/journal", "bloomdb/store"},
	"bloomdb/vote":       {"signature", "bloomdb/filter", "bloomdb/filter/generalized", "bloomdb/layout", "bloomdb/folder", "bloomdb/keyring", "bloomdb/journal", "bloomdb/wire", "bloomdb/store"},
	"bloomdb/outbox":     {"bloomdb/filter", "bloomdb/filter/coded", "bloomdb/layout", "bloomdb/folder", "bloomdb/keyring", "bloomdb/journal", "bloomdb/wire", "bloomdb/store"},
	"bloomdb/peers":      {"bloomdb/filter", "bloomdb/filter/coded", "bloomdb/layout", "bloomdb/folder", "bloomdb/clock", "bloomdb/wire", "bloomdb/store", "bloomdb/outbox"},
	"bloomdb/repair":     {"bloomdb/layout", "bloomdb/folder", "bloomdb/clock", "bloomdb/commonness", "bloomdb/journal", "bloomdb/mask", "bloomdb/store", "bloomdb/never", "bloomdb/vote", "bloomdb/peers"},
	"bloomdb/keyspace":   {"signature", "bloomdb/filter", "bloomdb/layout", "bloomdb/folder", "bloomdb/keyring", "bloomdb/clock", "bloomdb/commonness", "bloomdb/journal", "bloomdb/mask", "bloomdb/wire", "bloomdb/store", "bloomdb/never", "bloomdb/sketch", "bloomdb/vote", "bloomdb/outbox", "bloomdb/peers", "bloomdb/repair"},
	"bloomdb/judging":    {"signature", "bloomdb/filter", "bloomdb/layout", "bloomdb/keyring", "bloomdb/journal", "bloomdb/store", "bloomdb/never", "bloomdb/sketch", "bloomdb/vote", "bloomdb/keyspace"},
	"bloomdb/explain":    {"signature", "bloomdb/filter", "bloomdb/layout", "bloomdb/recent", "bloomdb/sketch", "bloomdb/store", "bloomdb/vote", "bloomdb/keyspace", "bloomdb/judging"},
	"bloomdb/status":     {"bloomdb/clock", "bloomdb/filter", "bloomdb/folder", "bloomdb/layout", "bloomdb/mask", "bloomdb/peers", "bloomdb/recent", "bloomdb/sketch", "bloomdb/store", "bloomdb/vote", "bloomdb/keyspace"},
	"bloomdb/backup":     {"bloomdb/clock", "bloomdb/folder", "bloomdb/journal", "bloomdb/never", "bloomdb/keyspace"},
	"bloomdb":            {"signature", "bloomdb/filter", "bloomdb/layout", "bloomdb/folder", "bloomdb/keyring", "bloomdb/clock", "bloomdb/commonness", "bloomdb/journal", "bloomdb/mask", "bloomdb/wire", "bloomdb/store", "bloomdb/never", "bloomdb/recent", "bloomdb/sketch", "bloomdb/vote", "bloomdb/outbox", "bloomdb/peers", "bloomdb/repair", "bloomdb/keyspace", "bloomdb/judging", "bloomdb/explain", "bloomdb/status", "bloomdb/backup"},

	// In the order of their imports.
	"bloomdb/exchange/redisclient": {},
	"bloomdb/exchange/streams":     {"bloomdb/layout", "bloomdb/wire", "bloomdb/exchange/redisclient"},
	"bloomdb/exchange/link":        {},
	"bloomdb/exchange/refusal":     {"bloomdb/layout", "bloomdb/wire", "bloomdb/exchange/streams", "bloomdb/exchange/link"},
	"bloomdb/exchange/follower":    {"bloomdb/layout", "bloomdb/wire", "bloomdb/peers", "bloomdb", "bloomdb/exchange/streams", "bloomdb/exchange/link", "bloomdb/exchange/refusal"},
	"bloomdb/exchange/publisher":   {"bloomdb/wire", "bloomdb/outbox", "bloomdb", "bloomdb/exchange/streams", "bloomdb/exchange/link"},
	"bloomdb/exchange/subscriber":  {"bloomdb/layout", "bloomdb/wire", "bloomdb", "bloomdb/exchange/streams", "bloomdb/exchange/link", "bloomdb/exchange/refusal", "bloomdb/exchange/follower", "bloomdb/exchange/publisher"},
	"bloomdb/exchange/presence":    {"bloomdb/layout"},
	"bloomdb/exchange":             {"bloomdb", "bloomdb/exchange/streams", "bloomdb/exchange/link", "bloomdb/exchange/refusal", "bloomdb/exchange/follower", "bloomdb/exchange/publisher", "bloomdb/exchange/subscriber"},

	// In the order of their imports: the daemon's side, and the client's.
	"reporting":                 {},
	"reporting/trust":           {},
	"reporting/judged":          {"signature"},
	"reporting/ledger/record":   {"signature", "reporting/trust"},
	"reporting/ledger/buckets":  {"reporting/ledger/record"},
	"reporting/ledger/pagefile": {"reporting/ledger/record", "reporting/ledger/buckets"},
	"reporting/ledger/salvage":  {"reporting/ledger/record", "reporting/ledger/buckets", "reporting/ledger/pagefile"},
	"reporting/ledger/store":    {"bloomdb/folder", "reporting/ledger/record", "reporting/ledger/buckets", "reporting/ledger/pagefile", "reporting/ledger/salvage"},
	"reporting/ledger/rows":     {"signature", "reporting/trust", "reporting/ledger/record", "reporting/ledger/buckets"},
	"reporting/ledger/search":   {"signature", "reporting/ledger/record", "reporting/ledger/rows"},
	"reporting/ledger":          {"signature", "reporting/trust", "reporting/ledger/record", "reporting/ledger/buckets", "reporting/ledger/salvage", "reporting/ledger/store", "reporting/ledger/rows", "reporting/ledger/search"},
	"reporting/backup":          {"bloomdb", "bloomdb/folder", "reporting/ledger"},
	"reporting/figures":         {},
	"reporting/history":         {},
	"reporting/overview":        {"reporting/figures"},
	"reporting/api":             {"signature", "bloomdb", "reporting/ledger", "reporting/overview"},
	"reporting/api/v1":          {"reporting/api"},
	"reporting/watch":           {"reporting/api", "reporting/figures", "reporting/overview"},
	"reporting/credential":      {"signature", "reporting/api"},
	"reporting/client":          {"reporting/api", "reporting/api/v1", "reporting/credential"},
	"reporting/desk":            {"signature", "bloomdb", "bloomdb/wire", "reporting/judged", "reporting/ledger", "reporting/backup", "reporting/api"},
	"reporting/desk/desktest":   {"signature", "bloomdb", "reporting/judged", "reporting/ledger", "reporting/trust", "reporting/desk"},
	"reporting/server":          {"signature", "bloomdb", "bloomdb/never", "reporting/ledger", "reporting/backup", "reporting/api", "reporting/api/v1", "reporting/credential", "reporting/desk", "reporting/overview"},

	"reporting/page":          {"signature", "bloomdb", "reporting/api", "reporting/api/v1", "reporting/desk", "reporting/figures", "reporting/history", "reporting/judged", "reporting/overview", "reporting/server"},
	"reporting/page/pagetest": {"signature", "bloomdb", "bloomdb/bloomdbtest", "reporting/api", "reporting/desk", "reporting/desk/desktest", "reporting/figures", "reporting/history", "reporting/judged", "reporting/page", "reporting/server", "reporting/watch"},

	"milter/door":      {},
	"milter/turns":     {"signature"},
	"milter":           {"signature", "bloomdb", "milter/policy", "milter/protocol", "milter/turns", "milter/door"},
	"milter/protocol":  {"milter/policy"},
	"milter/policy":    {"signature", "signature/suffix", "bloomdb", "milter/idn"},
	"milter/idn":       {},
	"milter/whiteclnt": {"milter/policy"},
	"milter/spamd":     {"signature", "milter", "milter/policy", "milter/door"},

	"bloomdb/exchange/linkfault":           {},
	"bloomdb/exchange/redistest":           {"bloomdb/exchange/redisclient", "cmd/testenv"},
	"bloomdb/exchange/streams/streamstest": {"bloomdb/wire", "bloomdb/exchange/streams", "bloomdb/exchange/link"},
	"bloomdb/bloomdbtest":                  {"signature", "bloomdb", "bloomdb/layout", "bloomdb/peers", "bloomdb/wire", "bloomdb/keyspace/keyspacetest"},

	"bloomdb/keyspace/keyspacetest": {"signature", "bloomdb/clock", "bloomdb/layout", "bloomdb/wire", "bloomdb/peers", "bloomdb/keyspace"},

	"cmd/testenv": {},

	// The end-to-end tests, and the packages that start real servers for them.
	"cmd/spambloomd/e2e/harness":         {"signature", "bloomdb/keyring", "reporting/api", "reporting/api/v1", "reporting/client", "cmd/testenv"},
	"cmd/spambloomd/e2e/harness/dovecot": {"cmd/spambloomd/e2e/harness", "cmd/testenv"},
	"cmd/spambloomd/e2e/harness/rspamd":  {"cmd/spambloomd/e2e/harness", "cmd/testenv"},
	"cmd/spambloomd/e2e/mta":             {},
	"cmd/spambloomd/e2e/mailbox":         {},
	"cmd/spambloomd/e2e/doors":           {},
	"cmd/spambloomd/e2e/federation":      {},
	"cmd/spambloomd/e2e/faults":          {},
	"cmd/spambloomd/e2e/life":            {},
	"cmd/spambloomd/e2e/packaging":       {},
	"cmd/spambloomd/e2e/figures":         {},

	"cmd/internal/config":  {"milter/idn"},
	"cmd/internal/layers":  {},
	"cmd/internal/socket":  {},
	"cmd/internal/suite":   {},
	"cmd/internal/mailbox": {},
	"cmd/internal/trap":    {},
	"cmd/internal/version": {},
	"cmd/internal/queue":   {"bloomdb/folder", "reporting/api"},
	"cmd/internal/manual":  {},

	"cmd/internal/invitation": {"bloomdb/layout", "bloomdb/keyring"},

	// What the verbs of cmd/spambloom share, in the order of their imports, and the verbs.
	"cmd/spambloom/format":      {},
	"cmd/spambloom/verb":        {"bloomdb", "cmd/internal/config", "cmd/internal/mailbox", "cmd/internal/socket", "reporting/api", "reporting/api/v1", "reporting/client", "signature"},
	"cmd/spambloom/batch":       {"bloomdb", "cmd/internal/mailbox", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/api", "reporting/api/v1", "reporting/client", "signature"},
	"cmd/spambloom/verdict":     {"bloomdb", "cmd/internal/replay", "cmd/spambloom/batch", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/api", "reporting/api/v1", "reporting/client", "signature"},
	"cmd/spambloom/report":      {"bloomdb", "cmd/internal/queue", "cmd/spambloom/batch", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/api", "reporting/api/v1", "reporting/client", "signature"},
	"cmd/spambloom/status":      {"bloomdb", "cmd/internal/queue", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/api", "reporting/api/v1", "reporting/figures", "reporting/overview"},
	"cmd/spambloom/reporters":   {"cmd/spambloom/batch", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/api", "reporting/api/v1", "reporting/client", "reporting/credential", "signature"},
	"cmd/spambloom/exceptions":  {"bloomdb/never", "cmd/spambloom/batch", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/api", "reporting/api/v1", "reporting/client", "signature"},
	"cmd/spambloom/federation":  {"bloomdb/keyring", "cmd/internal/config", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/api", "reporting/api/v1", "reporting/client"},
	"cmd/spambloom/finding":     {"cmd/spambloom/verb"},
	"cmd/spambloom/mta":         {"cmd/internal/socket"},
	"cmd/spambloom/doctor":      {"bloomdb/exchange/link", "bloomdb/exchange/redisclient", "cmd/internal/config", "cmd/spambloom/finding", "cmd/spambloom/mta", "cmd/spambloom/verb", "reporting/api", "reporting/api/v1", "reporting/client"},
	"cmd/spambloom/change":      {},
	"cmd/spambloom/setup":       {"signature", "reporting/api", "reporting/api/v1", "reporting/client", "cmd/internal/config", "cmd/internal/socket", "cmd/spambloom/verb", "cmd/spambloom/change", "cmd/spambloom/doctor", "cmd/spambloom/finding", "cmd/spambloom/mta"},
	"cmd/spambloom/join":        {"bloomdb/folder", "bloomdb/keyring", "cmd/internal/config", "cmd/internal/invitation", "cmd/spambloom/change", "cmd/spambloom/verb"},
	"cmd/spambloom/maintenance": {"bloomdb/folder", "cmd/internal/version", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/backup"},
	"cmd/spambloom/trial":       {"bloomdb", "cmd/internal/replay", "cmd/spambloom/batch", "cmd/spambloom/format", "cmd/spambloom/verb", "reporting/api", "signature"},

	"cmd/internal/monitoring": {"reporting/figures"},
	"cmd/internal/replay":     {"signature", "signature/suffix", "bloomdb", "bloomdb/filter", "milter/policy"},

	"cmd/bloomlab":             {"cmd/bloomlab/lab", "cmd/bloomlab/draw", "cmd/bloomlab/yancho", "cmd/bloomlab/retouched", "cmd/bloomlab/crosscheck", "cmd/bloomlab/delta", "cmd/bloomlab/iterative", "cmd/bloomlab/generalized", "cmd/bloomlab/beyond", "cmd/bloomlab/federation", "cmd/bloomlab/replica", "cmd/bloomlab/reputation", "cmd/bloomlab/variation", "cmd/internal/version"},
	"cmd/bloomlab/lab":         {"bloomdb/filter"},
	"cmd/bloomlab/labtest":     {"cmd/bloomlab/lab"},
	"cmd/bloomlab/draw":        {"cmd/bloomlab/lab"},
	"cmd/bloomlab/papers":      {"bloomdb/filter"},
	"cmd/bloomlab/yancho":      {"cmd/bloomlab/lab", "cmd/bloomlab/papers"},
	"cmd/bloomlab/retouched":   {"cmd/bloomlab/lab", "cmd/bloomlab/papers"},
	"cmd/bloomlab/delta":       {"bloomdb/filter", "bloomdb/filter/coded", "cmd/bloomlab/lab", "cmd/bloomlab/papers"},
	"cmd/bloomlab/crosscheck":  {"cmd/bloomlab/lab", "cmd/bloomlab/papers"},
	"cmd/bloomlab/iterative":   {"bloomdb/filter", "bloomdb/filter/iterative", "cmd/bloomlab/lab", "cmd/bloomlab/papers"},
	"cmd/bloomlab/generalized": {"bloomdb/filter", "bloomdb/filter/generalized", "cmd/bloomlab/lab", "cmd/bloomlab/papers"},
	"cmd/bloomlab/beyond":      {"signature", "bloomdb/filter", "cmd/bloomlab/lab", "cmd/bloomlab/papers", "cmd/bloomlab/yancho"},
	"cmd/bloomlab/federation":  {"bloomdb/filter", "bloomdb/filter/coded", "cmd/bloomlab/lab", "cmd/bloomlab/papers"},
	"cmd/bloomlab/reputation":  {"signature", "reporting/ledger", "reporting/trust", "cmd/bloomlab/lab"},
	"cmd/bloomlab/variation":   {"signature"},
	"cmd/bloomlab/replica":     {"signature", "bloomdb", "bloomdb/filter", "cmd/bloomlab/variation", "cmd/internal/mailbox"},

	"cmd/spambloomd": {"signature", "bloomdb", "bloomdb/folder", "bloomdb/keyring", "bloomdb/repair", "bloomdb/wire", "bloomdb/exchange", "bloomdb/exchange/presence", "bloomdb/exchange/redisclient", "bloomdb/exchange/streams", "reporting/backup", "reporting/judged", "reporting/ledger", "reporting/trust", "reporting/api", "reporting/desk", "reporting/server", "reporting/figures", "reporting/history", "reporting/overview", "reporting/page", "reporting/watch", "milter", "milter/policy", "milter/whiteclnt", "cmd/internal/config", "cmd/internal/socket", "cmd/internal/trap", "cmd/internal/version", "reporting/api/v1", "milter/spamd"},
	"cmd/spambloom":  {"cmd/internal/version", "cmd/spambloom/batch", "cmd/spambloom/doctor", "cmd/spambloom/exceptions", "cmd/spambloom/federation", "cmd/spambloom/join", "cmd/spambloom/maintenance", "cmd/spambloom/report", "cmd/spambloom/reporters", "cmd/spambloom/setup", "cmd/spambloom/status", "cmd/spambloom/trial", "cmd/spambloom/verb", "cmd/spambloom/verdict"},
}

// inTests may also be imported by tests; cmd/testenv by all of them.
var inTests = map[string][]string{
	"signature":         {"signature/archive/archivetest", "signature/sketch/sketchtest"},
	"signature/sketch":  {"signature/sketch/sketchtest"},
	"signature/visible": {"signature/words"},
	"signature/words":   {"signature/visible"},
	"signature/archive": {"signature/archive/archivetest"},

	"bloomdb/filter/coded":       {"bloomdb/filter/filtertest"},
	"bloomdb/filter/generalized": {"bloomdb/filter/filtertest"},
	"bloomdb/filter/iterative":   {"bloomdb/filter/filtertest"},

	"bloomdb/recent":   {"bloomdb/filter/filtertest"},
	"bloomdb/vote":     {"bloomdb/filter/filtertest", "bloomdb/keyspace", "bloomdb/keyspace/keyspacetest"},
	"bloomdb/outbox":   {"signature", "bloomdb/keyspace", "bloomdb/keyspace/keyspacetest"},
	"bloomdb/peers":    {"signature", "bloomdb/keyspace", "bloomdb/keyspace/keyspacetest", "bloomdb/status"},
	"bloomdb/repair":   {"bloomdb/filter", "bloomdb/keyspace", "bloomdb/keyspace/keyspacetest"},
	"bloomdb/keyspace": {"bloomdb/keyspace/keyspacetest", "bloomdb/explain"},
	"bloomdb/judging":  {"bloomdb/keyspace/keyspacetest", "bloomdb/wire", "bloomdb/peers"},
	"bloomdb":          {"bloomdb/bloomdbtest", "bloomdb/filter/filtertest", "bloomdb/filter/coded", "bloomdb/filter/generalized"},
	"bloomdb/exchange": {"signature", "bloomdb/bloomdbtest", "bloomdb/keyring", "bloomdb/wire", "bloomdb/exchange/linkfault", "bloomdb/exchange/redisclient", "bloomdb/exchange/redistest", "bloomdb/exchange/streams/streamstest"},

	"bloomdb/exchange/redisclient": {"bloomdb/exchange/redistest"},
	"bloomdb/exchange/streams":     {"bloomdb/exchange/redistest"},
	"bloomdb/exchange/presence":    {"bloomdb/exchange/redistest"},
	"bloomdb/exchange/follower":    {"bloomdb/bloomdbtest", "bloomdb/exchange/streams/streamstest"},
	"bloomdb/exchange/publisher":   {"bloomdb/bloomdbtest"},
	"bloomdb/exchange/subscriber":  {"bloomdb/bloomdbtest", "bloomdb/exchange/redistest"},

	"cmd/spambloomd":                {"cmd/internal/manual", "cmd/internal/monitoring", "cmd/spambloomd/e2e/harness", "reporting/client", "reporting/credential"},
	"cmd/spambloomd/e2e/mta":        {"signature", "bloomdb", "reporting/api", "reporting/api/v1", "reporting/client", "milter", "cmd/spambloomd/e2e/harness"},
	"cmd/spambloomd/e2e/doors":      {"signature", "reporting/api", "cmd/spambloomd/e2e/harness", "cmd/spambloomd/e2e/harness/rspamd"},
	"cmd/spambloomd/e2e/mailbox":    {"signature", "reporting/api", "reporting/api/v1", "reporting/client", "cmd/internal/config", "cmd/spambloomd/e2e/harness", "cmd/spambloomd/e2e/harness/dovecot"},
	"cmd/spambloomd/e2e/federation": {"bloomdb", "bloomdb/exchange", "bloomdb/exchange/linkfault", "reporting/api", "reporting/api/v1", "reporting/client", "cmd/spambloomd/e2e/harness"},
	"cmd/spambloomd/e2e/faults":     {"signature", "bloomdb/exchange/linkfault", "reporting/api", "reporting/api/v1", "reporting/client", "cmd/spambloomd/e2e/harness"},
	"cmd/spambloomd/e2e/life":       {"reporting/api", "reporting/api/v1", "reporting/client", "cmd/internal/config", "cmd/spambloomd/e2e/harness"},
	"cmd/spambloomd/e2e/packaging":  {"cmd/spambloomd/e2e/harness"},
	"cmd/spambloomd/e2e/figures":    {"reporting/api", "reporting/api/v1", "reporting/client", "cmd/spambloomd/e2e/harness", "cmd/spambloomd/e2e/harness/rspamd"},

	"cmd/spambloom": {"bloomdb", "cmd/internal/manual", "cmd/internal/queue", "milter/policy", "reporting/api", "reporting/desk", "reporting/judged", "reporting/ledger", "reporting/overview", "reporting/server", "reporting/trust", "reporting/watch", "signature"},

	"cmd/internal/queue": {"bloomdb"},

	"milter/spamd": {"bloomdb"},

	"reporting/backup":         {"signature", "reporting/trust"},
	"reporting/ledger/buckets": {"signature"},
	"reporting/watch":          {"bloomdb", "reporting/ledger"},
	"reporting/page":           {"reporting/desk/desktest", "reporting/page/pagetest", "reporting/ledger"},
	"reporting/desk":           {"reporting/desk/desktest", "reporting/trust"},
	"reporting/server":         {"reporting/client", "reporting/judged", "reporting/desk/desktest", "reporting/trust"},

	"cmd/bloomlab/yancho":      {"cmd/bloomlab/labtest"},
	"cmd/bloomlab/retouched":   {"cmd/bloomlab/labtest"},
	"cmd/bloomlab/delta":       {"cmd/bloomlab/labtest"},
	"cmd/bloomlab/crosscheck":  {"cmd/bloomlab/labtest"},
	"cmd/bloomlab/iterative":   {"cmd/bloomlab/labtest"},
	"cmd/bloomlab/generalized": {"cmd/bloomlab/labtest"},
	"cmd/bloomlab/beyond":      {"cmd/bloomlab/labtest"},
	"cmd/bloomlab/federation":  {"cmd/bloomlab/labtest"},
	"cmd/bloomlab/reputation":  {"cmd/bloomlab/labtest"},
}

// reserved imports are allowed only in the listed packages.
var reserved = map[string][]string{
	"github.com/emersion/go-milter":  {"milter", "milter/protocol"},
	"github.com/emersion/go-message": {"signature/mail"},
	"github.com/redis/go-redis/v9":   {"bloomdb/exchange/redisclient", "bloomdb/exchange/streams", "bloomdb/exchange/presence", "cmd/spambloomd"},
	"github.com/BurntSushi/toml":     {"cmd/internal/config"},
	"github.com/minio/sha256-simd":   {"signature/digest"},
	"github.com/wlynxg/chardet":      {"signature/mail"},
	"go.etcd.io/bbolt":               {"reporting/ledger", "reporting/ledger/buckets", "reporting/ledger/salvage", "reporting/ledger/store", "reporting/ledger/rows"},
	"gonum.org/v1/plot":              {"cmd/bloomlab/draw"},

	"github.com/RoaringBitmap/roaring/v2/roaring64": {"cmd/bloomlab/delta"},
	"github.com/klauspost/compress/zstd":            {"cmd/bloomlab/delta"},

	"crypto/md5":    {},
	"crypto/sha1":   {},
	"crypto/sha256": {},
	"crypto/sha512": {},
	"unsafe":        {"bloomdb/filter", "reporting/server"},
	"flag":          {"cmd/spambloomd/e2e/harness", "cmd/testenv"},
	"github.com/prometheus/client_golang/prometheus/promauto": {},
}

// forbidden imports, by package: the database does not use the network.
var forbidden = map[string][]string{
	"bloomdb":        {"net", "net/http", "os/exec"},
	"bloomdb/filter": {"net", "net/http", "os", "os/exec"},

	"bloomdb/filter/coded":       {"net", "net/http", "os", "os/exec"},
	"bloomdb/filter/generalized": {"net", "net/http", "os", "os/exec"},
	"bloomdb/filter/iterative":   {"net", "net/http", "os", "os/exec"},
}

// impure imports are forbidden in signature and all packages below it: the same message has
// the same signatures everywhere.
var impure = []string{"net", "net/http", "os", "os/exec", "time", "log/slog"}

// commandsOnly are calls that affect the whole process.
var commandsOnly = []string{
	"os.Exit", "os.Getenv", "os.LookupEnv", "os.Environ", "os.Args",
	"slog.SetDefault", "signal.Notify", "signal.NotifyContext",
	"prometheus.MustRegister", "prometheus.Register", "redis.SetLogger",
}

// topLevel lists all entries at the top, besides files that begin with a dot.
var topLevel = []string{
	"cmd", "milter", "signature", "bloomdb", "reporting", "contrib",
	"docker-compose.yml", "go.mod", "go.sum", "README.md",
	"Makefile", "LICENSE", "CHANGELOG.md", "Dockerfile",
}

// made are folders with foreign sources, or none.
var made = []string{"bin", "spambloom-data"}

// eachFile parses every Go source of the module.
func eachFile(t *testing.T, mode parser.Mode, visit func(name string, src []byte, file *ast.File)) {
	t.Helper()
	files := 0
	err := fs.WalkDir(repository, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || slices.Contains(made, name) || len(name) > 1 && name[0] == '.') {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, mode|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		visit(name, src, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Fatalf("only %d Go files found: not the repository?", files)
	}
}

func TestImports(t *testing.T) {
	eachFile(t, parser.ImportsOnly, func(name string, _ []byte, file *ast.File) {
		pkg := path.Dir(name)
		edges, ok := allowed[pkg]
		if !ok {
			t.Errorf("%s: package %s is not in the table of layers", name, pkg)
		}
		test := strings.HasSuffix(name, "_test.go")
		if test {
			edges = append(slices.Clip(edges), append(inTests[pkg], pkg, "cmd/testenv")...)
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if ours, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(edges, ours) {
				t.Errorf("%s: %s must not import %s", name, pkg, ours)
			}
			if !test {
				checkForeign(t, name, pkg, imported)
			}
		}
	})
}

func checkForeign(t *testing.T, name, pkg, imported string) {
	for lib, owners := range reserved {
		if (imported == lib || strings.HasPrefix(imported, lib+"/")) && !slices.Contains(owners, pkg) {
			t.Errorf("%s: %s must not import %s: it belongs to %v", name, pkg, imported, owners)
		}
	}
	isPure := pkg == "signature" || strings.HasPrefix(pkg, "signature/")
	if imported == "log" || slices.Contains(forbidden[pkg], imported) || isPure && slices.Contains(impure, imported) {
		t.Errorf("%s: %s must not import %s", name, pkg, imported)
	}
}

// Digests are made in one file, so that only that file depends on the library.
func TestDigestsInOneFile(t *testing.T) {
	seen := false
	eachFile(t, parser.ImportsOnly, func(name string, src []byte, _ *ast.File) {
		if strings.HasSuffix(name, "_test.go") || !bytes.Contains(src, []byte(`"github.com/minio/sha256-simd"`)) {
			return
		}
		seen = seen || name == "signature/digest/digest.go"
		if name != "signature/digest/digest.go" {
			t.Errorf("%s: digests are made in signature/digest/digest.go", name)
		}
	})
	if !seen {
		t.Error("signature/digest/digest.go does not use minio/sha256-simd")
	}
}

// Libraries never exit, read flags or the environment, or run code at initialisation.
func TestLibrariesDecideNothing(t *testing.T) {
	eachFile(t, 0, func(name string, _ []byte, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: func init", name)
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && !strings.HasPrefix(name, "cmd/") && slices.Contains(commandsOnly, x.Name+"."+n.Sel.Name) {
					t.Errorf("%s: %s.%s is for commands", name, x.Name, n.Sel.Name)
				}
			}
			return true
		})
	})
}

// Loops wait for a context or a timer; they never sleep uninterruptibly.
func TestNobodySleeps(t *testing.T) {
	eachFile(t, 0, func(name string, src []byte, _ *ast.File) {
		if !strings.HasSuffix(name, "_test.go") && bytes.Contains(src, []byte("time.Sleep(")) {
			t.Errorf("%s: time.Sleep", name)
		}
	})
}

func TestFileLength(t *testing.T) {
	eachFile(t, parser.PackageClauseOnly, func(name string, src []byte, _ *ast.File) {
		if n := bytes.Count(src, []byte("\n")); n > 500 {
			t.Errorf("%s: %d lines, at most 500", name, n)
		}
	})
}

// Files unknown to git, such as those of a profile, are ignored.
func TestTopLevel(t *testing.T) {
	git := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir = "../../.."
	out, err := git.Output()
	testenv.Need(t, err == nil, "git, and a repository of it")
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		top, _, _ := strings.Cut(name, "/")
		if top[0] != '.' && !slices.Contains(topLevel, top) {
			t.Errorf("%s does not belong at the top of the repository", name)
		}
	}
	for _, name := range topLevel {
		if _, err := fs.Stat(repository, name); err != nil {
			t.Error(err)
		}
	}
}

// link matches a link to a file of the repository in Markdown.
var link = regexp.MustCompile(`\]\(([^):#]+)\)`)

func TestDocumentsLinkToFiles(t *testing.T) {
	documents, err := fs.Glob(repository, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	contrib, err := fs.Glob(repository, "contrib/*.md")
	if err != nil || len(contrib) == 0 {
		t.Fatal("no documents in contrib", err)
	}
	guide, err := fs.Glob(repository, "contrib/guide/*.md")
	if err != nil || len(guide) == 0 {
		t.Fatal("no guide", err)
	}
	for _, name := range slices.Concat(documents, contrib, guide) {
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			if _, err := fs.Stat(repository, path.Join(path.Dir(name), string(m[1]))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if name == "README.md" && bytes.Count(text, []byte("\n")) >= 120 {
			t.Error("README.md has 120 lines or more")
		}
	}
}
