package bloomdb

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

func newSigningKey(t testing.TB) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// Who is heard: by name, key and trust.
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
		ao, bo := testOptions(t.TempDir(), "a"), testOptions(t.TempDir(), "b")
		ao.Members, bo.SigningKey = tc.members, tc.sign
		a, b := openTest(t, ao), openTest(t, bo)
		mustReport(t, b, 1)
		d := drain(t, b)[0]
		err := a.Apply(d.Data, peers.Next)
		if !errors.Is(err, tc.want) || (err == nil) != a.Judge(message(1)).Listed {
			t.Errorf("%s: %v, listed %v", name, err, a.Judge(message(1)).Listed)
		}
		if err != nil && !strings.Contains(err.Error(), "delta b ") {
			t.Errorf("%s: the error does not name the record: %v", name, err)
		}
		_, err = a.ReadManifest(publishSnapshot(t, b).manifest)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: manifest: %v", name, err)
		}
	}
}

// A record of a life that another one has followed is refused, whatever it is.
func TestReplayedLife(t *testing.T) {
	c := newClock()
	bo := testOptions(t.TempDir(), "b")
	bo.Now = c.Now
	a, b := openTest(t, testOptions(t.TempDir(), "a")), openTest(t, bo)
	mustReport(t, b, 1)
	old, oldSnapshot := drain(t, b)[0], publishSnapshot(t, b)
	mustApply(t, a, old)
	b.Close()
	c.add(time.Minute)
	bo.Dir = t.TempDir()
	b = openTest(t, bo)
	mustReport(t, b, 2)
	mustApply(t, a, drain(t, b)...)
	if err := a.Apply(old.Data, peers.Next); !errors.Is(err, wire.ErrReplayed) {
		t.Errorf("delta: %v", err)
	}
	m, err := a.ReadManifest(oldSnapshot.manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.ApplyChunk(m, 0, oldSnapshot.chunks[0]); !errors.Is(err, wire.ErrReplayed) {
		t.Errorf("chunk: %v", err)
	}
	if !a.Judge(message(1)).Listed || !a.Judge(message(2)).Listed {
		t.Error("what was held of one of the lives is gone")
	}
}

// An hour is tolerated, more is not.
func TestClocks(t *testing.T) {
	for _, tc := range []struct {
		ahead time.Duration
		want  error
	}{{59 * time.Minute, nil}, {61 * time.Minute, layout.ErrClock}, {-3 * time.Hour, nil}} {
		c := newClock()
		c.add(tc.ahead)
		bo := testOptions(t.TempDir(), "b")
		bo.Now = c.Now
		a, b := openTest(t, testOptions(t.TempDir(), "a")), openTest(t, bo)
		mustReport(t, b, 1)
		if err := a.Apply(drain(t, b)[0].Data, peers.Next); !errors.Is(err, tc.want) {
			t.Errorf("%s ahead: %v", tc.ahead, err)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	public, private := newSigningKey(t)
	ao, bo := testOptions(t.TempDir(), "a"), testOptions(t.TempDir(), "b")
	bo.SigningKey = private
	ao.Members = wire.Members{"b": {Keys: []ed25519.PublicKey{public}, Trust: wire.TrustVote}}
	a, b := openTest(t, ao), openTest(t, bo)
	mustReport(t, b, 1)
	drain(t, b)
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
