package main

import (
	"bytes"
	"math"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestPrintTable(t *testing.T) {
	rows := []lab.Row{
		{Cell: "m=80K k=4", Paper: 0.0239, Reference: 0.0239, Measured: 0.02395, SD: 0.0016, Rounds: 100, Tolerance: 0.0007, Within: true, Why: "4 standard errors"},
		{Cell: "k=8", Paper: 2.725, Reference: 2.753, Measured: 2.9, Rounds: 1, Tolerance: 1e-6, Why: "digits", Note: "the digits are swapped: 3.2E-6/1.2E-6"},
		{Cell: "free", Paper: lab.None, Reference: lab.None, Measured: 0, SD: 0, Rounds: 100, Tolerance: lab.None, Within: true, Why: "too few events"},
	}
	e := lab.Experiment{Name: "demo", Title: "three rows", Source: "paper, Table I"}
	want := `demo: three rows
(paper, Table I)

cell        paper  reference  measured      sd  rounds  tolerance     within  note
m=80K k=4  0.0239     0.0239   0.02395  0.0016     100  7.000e-04  a     yes
k=8         2.725      2.753       2.9       0       1  1.000e-06  b      NO     1
free            -          -         0       0     100          -  c       -
a: 4 standard errors
b: digits
c: too few events
1: the digits are swapped: 3.2E-6/1.2E-6

`
	var got bytes.Buffer
	testenv.Check(t, printTable(&got, e, rows))
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestDecimal(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 20: "20", 18830: "18830", 18830.46: "18830.5", 123456.7: "1.235e+05", 0.0239: "0.0239",
		5.745e-4: "5.745e-04", 1.794: "1.794", -0.5: "-0.5", math.Inf(1): "any",
	} {
		if got := decimal(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}
