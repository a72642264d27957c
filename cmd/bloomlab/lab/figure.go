package lab

// Figure is the data of a figure: the points, not their style.
type Figure struct {
	Name   string // of its files, without ending: "retouched-fig6"
	Title  string
	X, Y   Axis
	Series []Series
}

// Axis is one of the two axes of a figure.
type Axis struct {
	Label string
	Log   bool // points at or below zero are omitted

	// Min and Max bound the axis if Min < Max; otherwise the points do.
	Min, Max float64
}

// Series is one line of the legend.
type Series struct {
	Name   string
	Points []Point
	Theory bool // computed: a line without marks; otherwise joined marks
}

// Point has an error bar of its deviation in y if that is above zero.
type Point struct {
	X, Y      float64
	Deviation float64
}
