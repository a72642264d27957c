package lab

// Figure is what is drawn: the points, not how they look.
type Figure struct {
	Name   string // of its files, without ending: "retouched-fig6"
	Title  string
	X, Y   Axis
	Series []Series
}

// Axis is one of a figure's two.
type Axis struct {
	Label string
	Log   bool // points that are not above zero are left out

	// Min and Max bound the axis where Min < Max; else the points do.
	Min, Max float64
}

// Series is one line of the legend.
type Series struct {
	Name   string
	Points []Point
	Theory bool // computed: a line without marks; else marks, joined
}

// Point has an error bar of its deviation in y, where that is above zero.
type Point struct {
	X, Y      float64
	Deviation float64
}
