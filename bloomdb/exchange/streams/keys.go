package streams

// Keys are the names of a federation's keys in Redis. All have one hash tag, so that a
// cluster stores them on one node and a script may access them together.
type Keys struct{ tag string }

// newKeys returns the keys of the federation whose key has the id keyID (keyring.ID).
func newKeys(keyID string) Keys { return Keys{"{spambloom:" + keyID + "}"} }

// EntryField is the field that holds the record in an entry of a stream.
const EntryField = "delta"

// The slots of a site's snapshots. The manifest names the slot of the current snapshot. The
// other is empty, or contains part of the next one.
const (
	FirstSlot  = '0'
	SecondSlot = '1'
)

// OtherSlot returns the slot that is not in use.
func OtherSlot(slot byte) byte {
	if slot == FirstSlot {
		return SecondSlot
	}
	return FirstSlot
}

func (k Keys) StreamKey(site string) string   { return k.tag + ":stream:" + site }   // a site's stream
func (k Keys) ForeignKey(site string) string  { return k.tag + ":foreign:" + site }  // data moved aside
func (k Keys) HeadsKey() string               { return k.tag + ":heads" }            // hash of all heartbeats
func (k Keys) TailsKey() string               { return k.tag + ":tails" }            // hash of all streams' ends
func (k Keys) VotesKey() string               { return k.tag + ":votes" }            // hash of all votes
func (k Keys) Channel() string                { return k.tag + ":news" }             // the pub/sub channel
func (k Keys) ManifestKey(site string) string { return k.tag + ":manifest:" + site } // of its snapshot

// SlotKey returns the hash of the chunks in a slot.
func (k Keys) SlotKey(site string, slot byte) string {
	return k.tag + ":snapshot:" + site + ":" + string(slot)
}
