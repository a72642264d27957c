package judging

import (
	"os"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunModels(m, 10)) }

// openKeyspace opens an empty keyspace of a site.
func openKeyspace(t *testing.T, site string) *keyspace.Keyspace {
	t.Helper()
	return keyspacetest.Open(t, keyspacetest.Config(t.TempDir(), site, keyspacetest.NewClock().Now))
}

// askGroups returns the question for a message with the given groups instead of those of its
// sketches.
func askGroups(ks *keyspace.Keyspace, set signature.Set, groups []sketch.KindGroups) []question {
	asked := ask(nil, []*keyspace.Keyspace{ks}, &set)
	asked[0].groups = groups
	return asked
}

// judgeGroups judges a message that has only the given groups.
func judgeGroups(ks *keyspace.Keyspace, groups []sketch.KindGroups) Evidence {
	return judge(askGroups(ks, signature.Set{}, groups), &signature.Set{})
}

// judge answers a question as Judge does, and looks up all link domains.
func judge(asked []question, set *signature.Set) Evidence {
	f := gather(asked, set)
	f.links = gatherLinks(asked, set.Domains, len(f.weak()) > 0, testPolicy)
	return f.decide(set, testPolicy)
}

// listGroups reports or revokes a message with the given groups.
func listGroups(ks *keyspace.Keyspace, kind layout.Kind, set signature.Set, groups []sketch.KindGroups) error {
	records, err := ks.Sketches.Records(kind, groups, ks.Settings.Generation(kind, ks.Settings.Now()), layout.ReporterRungs)
	if err != nil {
		return err
	}
	at, err := ks.Journal.Append(records...)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := ks.Store.Set(r, ks.Outbox.Note); err != nil {
			return err
		}
	}
	ks.Journal.Done(at)
	set.Sketches = nil
	return keyspacetest.Report(ks, kind, set)
}
