package bloomdb_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func newSigningKey(t testing.TB) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	testenv.Check(t, err)
	return public, private
}

// Records are accepted by the name, key and trust of their site.
func TestMembers(t *testing.T) {
	public, private := newSigningKey(t)
	next, nextPrivate := newSigningKey(t)
	other, _ := newSigningKey(t)
	for name, tc := range map[string]struct {
		members wire.Members
		sign    ed25519.PrivateKey
		want    error
	}{
		"everybody":            {nil, nil, nil},
		"everybody, signed":    {nil, private, nil},
		"a peer without a key": {wire.Members{"b": {}}, nil, nil},
		"signed by the peer":   {wire.Members{"b": {Keys: []ed25519.PublicKey{public}}}, private, nil},
		"the old of two keys":  {wire.Members{"b": {Keys: []ed25519.PublicKey{public, next}}}, private, nil},
		"the new of two keys":  {wire.Members{"b": {Keys: []ed25519.PublicKey{public, next}}}, nextPrivate, nil},
		"a stranger":           {wire.Members{"c": {}}, private, wire.ErrStranger},
		"nobody is a peer":     {wire.Members{}, private, wire.ErrStranger},
		"unsigned":             {wire.Members{"b": {Keys: []ed25519.PublicKey{public}}}, nil, wire.ErrUnsigned},
		"another key":          {wire.Members{"b": {Keys: []ed25519.PublicKey{other}}}, private, wire.ErrUnsigned},
		"a vote":               {wire.Members{"b": {Trust: wire.TrustVote}}, private, wire.ErrTrust},
		"no trust":             {wire.Members{"b": {Trust: wire.TrustNone}}, private, wire.ErrTrust},
	} {
		ao, bo := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.Options(t.TempDir(), "b")
		ao.Members, bo.SigningKey = tc.members, tc.sign
		a, b := bloomdbtest.Open(t, ao), bloomdbtest.Open(t, bo)
		bloomdbtest.Report(t, b, 1)
		d := bloomdbtest.Drain(t, b)[0]
		err := a.Apply(d.Data, peers.Next)
		if !errors.Is(err, tc.want) || (err == nil) != a.Judge(bloomdbtest.Message(1)).Listed {
			t.Errorf("%s: %v, listed %v", name, err, a.Judge(bloomdbtest.Message(1)).Listed)
		}
		if err != nil && !strings.Contains(err.Error(), "delta b ") {
			t.Errorf("%s: the error does not name the record: %v", name, err)
		}
		_, err = a.ReadManifest(bloomdbtest.PublishSnapshot(t, b).Manifest)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: manifest: %v", name, err)
		}
	}
}

// A record of a stale epoch is rejected, whatever its type.
func TestReplayedEpoch(t *testing.T) {
	c := bloomdbtest.NewClock()
	bo := bloomdbtest.Options(t.TempDir(), "b")
	bo.Now = c.Now
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bo)
	bloomdbtest.Report(t, b, 1)
	old, oldSnapshot := bloomdbtest.Drain(t, b)[0], bloomdbtest.PublishSnapshot(t, b)
	bloomdbtest.Apply(t, a, old)
	b.Close()
	c.Add(time.Minute)
	bo.Dir = t.TempDir()
	b = bloomdbtest.Open(t, bo)
	bloomdbtest.Report(t, b, 2)
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
	if err := a.Apply(old.Data, peers.Next); !errors.Is(err, wire.ErrReplayed) {
		t.Errorf("delta: %v", err)
	}
	m, err := a.ReadManifest(oldSnapshot.Manifest)
	testenv.Check(t, err)
	if err := a.ApplyChunk(m, 0, oldSnapshot.Chunks[0]); !errors.Is(err, wire.ErrReplayed) {
		t.Errorf("chunk: %v", err)
	}
	if !a.Judge(bloomdbtest.Message(1)).Listed || !a.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("the data of one of the epochs was removed")
	}
}

// A clock that is ahead by an hour is tolerated, by more is not.
func TestClocks(t *testing.T) {
	for _, tc := range []struct {
		ahead time.Duration
		want  error
	}{{59 * time.Minute, nil}, {61 * time.Minute, layout.ErrClock}, {-3 * time.Hour, nil}} {
		c := bloomdbtest.NewClock()
		c.Add(tc.ahead)
		bo := bloomdbtest.Options(t.TempDir(), "b")
		bo.Now = c.Now
		a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bo)
		bloomdbtest.Report(t, b, 1)
		if err := a.Apply(bloomdbtest.Drain(t, b)[0].Data, peers.Next); !errors.Is(err, tc.want) {
			t.Errorf("%s ahead: %v", tc.ahead, err)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	public, private := newSigningKey(t)
	ao, bo := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.Options(t.TempDir(), "b")
	bo.SigningKey = private
	ao.Members = wire.Members{"b": {Keys: []ed25519.PublicKey{public}, Trust: wire.TrustVote}}
	a, b := bloomdbtest.Open(t, ao), bloomdbtest.Open(t, bo)
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Drain(t, b)
	data := b.Heartbeat(7, 9)
	h, err := a.ReadHeartbeat(data)
	epoch, seq := b.Head()
	if err != nil || h.Site != "b" || h.Epoch != epoch || h.Seq != seq || h.Snapshot != 7 || h.Votes != 9 || !h.Made.Equal(bo.Now()) {
		t.Errorf("%+v, %v", h, err)
	}
	for at := range data {
		torn := append([]byte(nil), data...)
		torn[at] ^= 1
		if _, err := a.ReadHeartbeat(torn); err == nil {
			t.Fatalf("byte %d flipped: no error", at)
		}
	}
}
