package work

import "math"

const (
	// The texts of a message may cost freeSteps, and stepsOfByte for each of their
	// decoded bytes. Normal mail costs up to half of that. Both depend only on what all
	// copies of a message share, so the budget ends at the same place in each copy.
	freeSteps   = 1 << 18
	stepsOfByte = 24
	// shareOfReading is the share of the budget, one in so many, that a further reading of the
	// same texts has at least, up to maxRenewed times.
	shareOfReading, maxRenewed = 16, 8
	// bytesOfText and bytesOfPage are added to the size of each text, so that many small
	// texts do not use up the budget of the others.
	bytesOfText, bytesOfPage = 4, 56
)

// The steps of frequent operations. A step is 5 to 10 ns of processor time.
const (
	PerTag      = 6   // a tag of HTML, an attribute, a look-up in a style sheet
	PerSelector = 60  // a selector of a style sheet
	PerToken    = 8   // a word that has more than plain letters
	PerLine     = 6   // a line that may be quoted
	PerHost     = 40  // the host name of a link
	PerText     = 16  // a text, besides its content
	PerPage     = 200 // a text in HTML
	PerPart     = 100 // a part of the message, its header, a member of an archive
	PerPixel    = 5
	PerDetected = 4000 // a text whose charset is detected, besides its bytes
	// PerDetectedByte is for a byte from which a charset is detected: some twenty state
	// machines read it.
	PerDetectedByte = 60
	PerImage        = 200_000 // a decoded image, besides its pixels and bytes
	// PerPackedByte is for the worst case of archives and images: a compressed block of
	// 32 bytes that contains only codes, which fill tables of 8,192 entries.
	PerPackedByte = 24
)

// Steps counts the steps of signing one message. The texts have a budget: their stages
// call Spend, and stop if IsOver. The other stages have limits of their own; their steps
// are counted so that a test can check the bound of the sum, which FORMAT.md states. A
// nil Steps counts nothing and has no budget. It is used by one goroutine at a time.
type Steps struct {
	// Stop is closed when nobody wants the signatures any more. The budget is then used
	// up. Nil: that does not happen.
	Stop <-chan struct{}

	all     int  // of all stages so far
	texts   int  // of the texts
	granted int  // for the texts, besides freeSteps
	wasOver bool // in an earlier reading
	renewed int  // times that a reading had its share
	shares  int  // for these readings, besides granted
	look    int  // steps of the texts at which Stop is looked at again
}

// betweenLooks is the number of steps after which Stop is looked at, about 0.1 ms.
const betweenLooks = 1 << 14

// Count adds steps of a stage that has a limit of its own.
func (w *Steps) Count(n int) {
	if w != nil {
		w.all += n
	}
}

// Grant adds to the budget what a text of a size may cost.
func (w *Steps) Grant(size int, isPage bool) {
	if w == nil {
		return
	}
	if isPage {
		size += bytesOfPage
	}
	w.granted += stepsOfByte * (size + bytesOfText)
}

// Renew begins a further reading of the texts, or of their links. Whatever was spent before, it can read
// what comes first: text behind that must not keep it from being found.
func (w *Steps) Renew() {
	if w == nil || w.renewed == maxRenewed || w.granted < 0 {
		return
	}
	w.wasOver = w.WasOver()
	share := (freeSteps + w.granted) / shareOfReading
	if left := freeSteps + w.granted + w.shares - w.texts; left < share {
		w.renewed, w.shares = w.renewed+1, w.shares+share-left
	}
}

// Spend adds steps of the texts, which are taken from the budget.
func (w *Steps) Spend(n int) {
	if w != nil {
		w.all += n
		if w.texts += n; w.texts >= w.look {
			w.lookAtStop()
		}
	}
}

func (w *Steps) lookAtStop() {
	w.look = w.texts + betweenLooks
	if w.IsStopped() {
		w.granted = math.MinInt / 2
	}
}

// IsStopped reports whether Stop is closed.
func (w *Steps) IsStopped() bool {
	if w == nil {
		return false
	}
	select {
	case <-w.Stop:
		return true
	default:
		return false
	}
}

// IsOver reports whether the budget is used up. The text read so far is signed.
func (w *Steps) IsOver() bool { return w != nil && w.texts > freeSteps+w.granted+w.shares }

// WasOver reports whether the budget was used up in any reading.
func (w *Steps) WasOver() bool { return w != nil && w.wasOver || w.IsOver() }

// Total returns the steps of all stages so far.
func (w *Steps) Total() int { return w.all }

// OfTexts returns the steps of the texts so far, and those granted besides the free ones.
func (w *Steps) OfTexts() (spent, granted int) { return w.texts, w.granted }
