package bloomdb

import (
	"testing"
)

// What other sites were told of is not forgotten here by a crash: their counts
// would stay above this site's own for ever.
func TestCountsAreOnDiskBeforeTheyAreTold(t *testing.T) {
	o := testOptions(t.TempDir(), "a")
	db := openTest(t, o)
	other := openTest(t, testOptions(t.TempDir(), "b"))
	mustCount(t, db, 1, 7)
	mustApply(t, other, drain(t, db)...)
	crash(t, db)
	db = openTest(t, o)
	told, kept := other.Judge(message(1)).Count, db.Judge(message(1)).Count
	if told != 7 || kept != told {
		t.Errorf("told of %d sightings, and kept %d", told, kept)
	}
}
