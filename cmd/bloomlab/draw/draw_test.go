package draw

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func figure() lab.Figure {
	return lab.Figure{
		Name: "decay", Title: "errors decay",
		X: lab.Axis{Label: "bits a key"}, Y: lab.Axis{Label: "chance of error", Log: true},
		Series: []lab.Series{
			{Name: "measured", Points: []lab.Point{{X: 1, Y: 0.5, Deviation: 0.6}, {X: 2, Y: 0.1, Deviation: 0.01}, {X: 3}, {X: 4, Y: math.NaN()}}},
			{Name: "theory", Theory: true, Points: []lab.Point{{X: 1, Y: 0.5}, {X: 2, Y: 0.1}, {X: 3, Y: 0.02}}},
			{Name: "never", Points: []lab.Point{{X: 1}, {X: 2}}},
		},
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	testenv.Check(t, Save(dir, figure()))
	svg, err := os.ReadFile(filepath.Join(dir, "decay.svg"))
	testenv.Check(t, err)
	for _, want := range []string{">0.1<", ">1<", "errors decay", "bits a key", "chance of error", ">measured<", ">theory<"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("the SVG does not show %q", want)
		}
	}
	if bytes.Contains(svg, []byte(">never<")) {
		t.Error("a line without a point that can be shown stands in the legend")
	}
	file, err := os.Open(filepath.Join(dir, "decay.png"))
	testenv.Check(t, err)
	defer file.Close()
	img, err := png.Decode(file)
	testenv.Check(t, err)
	if b := img.Bounds(); b.Dx() < 700 || b.Dy() < 400 {
		t.Errorf("picture of %v", b)
	}
}

func TestSaveOnePoint(t *testing.T) {
	f := figure()
	f.X.Log = true
	f.Series = []lab.Series{{Name: "one", Points: []lab.Point{{X: 7, Y: 0.5}}}}
	testenv.Check(t, Save(t.TempDir(), f))
}

func TestSaveFails(t *testing.T) {
	f := figure()
	f.Series = f.Series[2:]
	if err := Save(t.TempDir(), f); err == nil || !strings.Contains(err.Error(), "figure decay: no points") {
		t.Errorf("nothing to draw: %v", err)
	}
	if err := Save(filepath.Join(t.TempDir(), "missing"), figure()); err == nil || !strings.Contains(err.Error(), "decay.svg") {
		t.Errorf("no such folder: %v", err)
	}
}
