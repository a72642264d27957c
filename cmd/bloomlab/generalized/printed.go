package generalized

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// row is a line of a table: parameters, then what is printed.
type row struct {
	x      float64 // what varies: p0, k1 or m
	m      uint64
	k0, k1 int
	p0     float64

	bloom, falsePositive, falseNegative, boundPositive, boundNegative float64
}

func (r row) shape() filter.GeneralizedShape {
	return filter.GeneralizedShape{M: r.m, K0: r.k0, K1: r.k1}
}

// table is one of the paper's. Tables 1 to 6 are in percent with one decimal, 7
// and 8 have shares with two digits.
type table struct {
	number  int
	vary    string // "p0", "k1" or "m"
	percent bool
	rows    []row
}

// unit is what the printed values are multiples of 1 by.
func (t table) unit() float64 {
	if t.percent {
		return 100
	}
	return 1
}

func (t table) name(r row) string {
	switch t.vary {
	case "p0":
		return fmt.Sprintf("p0=%.0f%%", 100*r.x)
	case "k1":
		return fmt.Sprintf("k1=%.0f", r.x)
	}
	return fmt.Sprintf("m=%d", r.m)
}

// at is the row for another value of what varies, without printed values.
func (t table) at(x float64) row {
	r := t.rows[0]
	r.x = x
	switch t.vary {
	case "p0":
		r.p0 = x
	case "k1":
		r.k1 = int(x)
	default:
		r.m = uint64(x)
		if t.number >= 7 {
			r.k1 = int(x/n*ln2 + 0.5)
		}
	}
	return r
}

const ln2 = 0.6931471805599453

var tables = []table{
	{1, "p0", true, []row{
		{0, 65536, 2, 2, 0, 100, 0, 1.5, 6.3, 3.1},
		{0.25, 65536, 2, 2, 0.25, 56.5, 3.6, 1.5, 6.3, 3.1},
		{0.5, 65536, 2, 2, 0.5, 25.4, 6.3, 1.5, 6.3, 3.1},
		{0.75, 65536, 2, 2, 0.75, 6.6, 3.6, 1.5, 6.3, 3.1},
		{1, 65536, 2, 2, 1, 0, 0, 1.5, 6.3, 3.1},
	}},
	{2, "p0", true, []row{
		{0, 65536, 2, 3, 0, 100, 0, 2.3, 3.5, 4.6},
		{0.25, 65536, 2, 3, 0.25, 42.7, 2.7, 2.3, 3.5, 4.6},
		{0.5, 65536, 2, 3, 0.5, 12.9, 3.1, 2.3, 3.5, 4.6},
		{0.75, 65536, 2, 3, 0.75, 1.7, 0.9, 2.3, 3.5, 4.6},
		{1, 65536, 2, 3, 1, 0, 0, 2.3, 3.5, 4.6},
	}},
	{3, "k1", true, []row{
		{1, 65536, 2, 1, 0.5, 50.2, 12.6, 0.8, 14.8, 1.6},
		{2, 65536, 2, 2, 0.5, 25.4, 6.3, 1.5, 6.3, 3.1},
		{3, 65536, 2, 3, 0.5, 12.9, 3.1, 2.3, 3.5, 4.6},
		{4, 65536, 2, 4, 0.5, 6.7, 1.6, 3.0, 2.2, 6.0},
		{5, 65536, 2, 5, 0.5, 3.4, 0.8, 3.8, 1.5, 7.5},
	}},
	{4, "k1", true, []row{
		{1, 131072, 2, 1, 0.5, 50.1, 12.6, 0.4, 14.8, 0.8},
		{2, 131072, 2, 2, 0.5, 25.2, 6.3, 0.8, 6.3, 1.6},
		{3, 131072, 2, 3, 0.5, 12.7, 3.1, 1.2, 3.5, 2.3},
		{4, 131072, 2, 4, 0.5, 6.5, 1.6, 1.5, 2.2, 3.0},
		{5, 131072, 2, 5, 0.5, 3.3, 0.8, 1.9, 1.5, 3.8},
	}},
	{5, "m", true, []row{
		{8192, 8192, 2, 2, 0.25, 58.5, 4.1, 11.3, 6.3, 21.5},
		{16384, 16384, 2, 2, 0.25, 57.4, 3.8, 5.9, 6.3, 11.6},
		{32768, 32768, 2, 2, 0.25, 56.8, 3.7, 3.0, 6.3, 6.0},
		{65536, 65536, 2, 2, 0.25, 56.5, 3.6, 1.5, 6.3, 3.1},
		{131072, 131072, 2, 2, 0.25, 56.4, 3.6, 0.8, 6.3, 1.6},
	}},
	{6, "m", true, []row{
		{8192, 8192, 2, 2, 1, 0.4, 0.3, 11.3, 6.3, 21.5},
		{16384, 16384, 2, 2, 1, 0.1, 0.1, 5.9, 6.3, 11.6},
		{32768, 32768, 2, 2, 1, 0, 0, 3.0, 6.3, 6.0},
		{65536, 65536, 2, 2, 1, 0, 0, 1.5, 6.3, 3.1},
		{131072, 131072, 2, 2, 1, 0, 0, 0.8, 6.3, 1.6},
	}},
	{7, "m", false, []row{
		{8192, 8192, 1, 22, 1, 2.1e-7, 7.9e-8, 4.3e-1, 1.6e-2, 6.9e-1},
		{16384, 16384, 1, 44, 1, 4.4e-14, 1.7e-14, 4.3e-1, 8.3e-3, 6.9e-1},
		{32768, 32768, 1, 89, 1, 2.0e-27, 7.2e-28, 4.3e-1, 4.1e-3, 7.0e-1},
		{65536, 65536, 1, 177, 1, 3.8e-54, 1.4e-54, 4.3e-1, 2.1e-3, 7.0e-1},
		{131072, 131072, 1, 355, 1, 1.5e-107, 5.4e-108, 4.3e-1, 1.0e-3, 7.0e-1},
	}},
	{8, "m", false, []row{
		{8192, 8192, 1, 22, 0.01, 9.0e-1, 1.5e-2, 4.3e-1, 1.6e-2, 6.9e-1},
		{16384, 16384, 1, 44, 0.01, 8.0e-1, 7.9e-3, 4.3e-1, 8.3e-3, 6.9e-1},
		{32768, 32768, 1, 89, 0.01, 6.4e-1, 4.1e-3, 4.3e-1, 4.1e-3, 7.0e-1},
		{65536, 65536, 1, 177, 0.01, 4.1e-1, 2.0e-3, 4.3e-1, 2.1e-3, 7.0e-1},
		{131072, 131072, 1, 355, 0.01, 1.7e-1, 6.6e-4, 4.3e-1, 1.0e-3, 7.0e-1},
	}},
}
