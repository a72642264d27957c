package main

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/signature"
)

// A member begins a new epoch, as after the loss of its folder, or as often as it likes. The
// metrics of the other sites stay readable, with one value for each site.
func TestMetricsOfEpochs(t *testing.T) {
	key := [32]byte{1}
	d, o := withDatabase(t, key, nil)
	cells := int64(0)
	for n := range 2 {
		member := o
		member.Site, member.Dir, member.Exchange = "mx2", t.TempDir(), true
		db, err := bloomdb.Open(member)
		if err != nil {
			t.Fatal(err)
		}
		text := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, []byte{byte(n)})}
		if err := db.Report(signature.Set{Signatures: []signature.Signature{text}}, bloomdb.ClassOther); err != nil {
			t.Fatal(err)
		}
		if err := db.Resume(0, 0); err != nil {
			t.Fatal(err)
		}
		delta, ok, err := db.NextDelta(true)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := d.db.Apply(delta.Data, peers.Next); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	epochs := 0
	for _, s := range d.db.Status().Sites {
		if s.Site == "mx2" {
			epochs, cells = epochs+1, cells+s.Cells
		}
	}
	if epochs != 2 {
		t.Fatalf("%d epochs", epochs)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(databaseCollector{d.db})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "spambloom_db_site_cells" {
			continue
		}
		for _, m := range f.Metric {
			if m.Label[0].GetValue() == "mx2" && m.Gauge.GetValue() != float64(cells) {
				t.Errorf("%v cells of mx2, want %d", m.Gauge.GetValue(), cells)
			}
		}
	}
}
