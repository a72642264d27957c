package yancho

import "github.com/spambloom/spambloom/cmd/bloomlab/lab"

// rates are the printed mean false positive rates of one row of a table, for
// k = 4, 6, 8, and the printed reduction rates.
type rates struct {
	m                  uint64
	intuitive, refined [3]float64
	reduction          [3]float64 // NaN where the paper prints a dash
}

// hashes are the k of the tables' columns.
var hashes = [3]int{4, 6, 8}

// The intuitive rates are the same in experiments 1 to 3, and in 4 and 5: the
// order of insertions does not change an intuitive filter.
var (
	equalCounts = [][3]float64{
		{2.390e-2, 2.154e-2, 2.548e-2},
		{2.372e-3, 9.446e-4, 5.686e-4},
		{1.860e-4, 2.570e-5, 4.500e-6},
	}
	uniform20 = [][3]float64{
		{2.019e-2, 1.723e-2, 1.964e-2},
		{1.955e-3, 7.178e-4, 4.059e-4},
		{1.530e-4, 1.733e-5, 2.662e-6},
	}
)

var tableIII = []rates{
	{80_000, equalCounts[0], [3]float64{5.840e-3, 4.167e-3, 4.316e-3}, [3]float64{4.094, 5.170, 5.903}},
	{160_000, equalCounts[1], [3]float64{5.107e-4, 1.591e-4, 7.720e-5}, [3]float64{4.645, 5.937, 7.365}},
	{320_000, equalCounts[2], [3]float64{3.450e-5, 3.100e-6, 3.000e-7}, [3]float64{5.391, 8.290, 15.000}},
}

var tableIV = []rates{
	{80_000, equalCounts[0], [3]float64{5.612e-3, 4.069e-3, 4.213e-3}, [3]float64{4.259, 5.294, 6.046}},
	{160_000, equalCounts[1], [3]float64{5.068e-4, 1.587e-4, 7.710e-5}, [3]float64{4.681, 5.952, 7.375}},
	{320_000, equalCounts[2], [3]float64{3.450e-5, 3.100e-6, 3.000e-7}, [3]float64{5.391, 8.290, 15.000}},
}

var tableV = []rates{
	{80_000, equalCounts[0], [3]float64{1.875e-2, 1.538e-2, 1.707e-2}, [3]float64{1.275, 1.401, 1.493}},
	{160_000, equalCounts[1], [3]float64{1.789e-3, 6.278e-4, 3.482e-4}, [3]float64{1.326, 1.505, 1.633}},
	{320_000, equalCounts[2], [3]float64{1.350e-4, 1.630e-5, 2.700e-6}, [3]float64{1.378, 1.577, 1.667}},
}

var tableVI = []rates{
	{80_000, uniform20[0], [3]float64{5.381e-3, 3.231e-3, 2.929e-3}, [3]float64{3.753, 5.331, 6.706}},
	{160_000, uniform20[1], [3]float64{4.491e-4, 1.096e-4, 4.738e-5}, [3]float64{4.352, 6.550, 8.567}},
	{320_000, uniform20[2], [3]float64{3.179e-5, 1.611e-6, 1.501e-7}, [3]float64{4.813, 10.752, 17.733}},
}

var tableVII = []rates{
	{80_000, uniform20[0], [3]float64{5.982e-3, 3.952e-3, 3.810e-3}, [3]float64{3.375, 4.359, 5.155}},
	{160_000, uniform20[1], [3]float64{5.211e-4, 1.446e-4, 6.395e-5}, [3]float64{3.751, 4.964, 6.348}},
	{320_000, uniform20[2], [3]float64{3.622e-5, 2.853e-6, 2.402e-7}, [3]float64{4.224, 6.074, 11.083}},
}

var tableVIII = []rates{
	{80_000, [3]float64{2.394e-2, 2.155e-2, 2.546e-2}, [3]float64{1.086e-2, 7.966e-3, 8.282e-3}, [3]float64{2.203, 2.706, 3.075}},
	{160_000, [3]float64{2.374e-3, 9.459e-4, 5.655e-4}, [3]float64{9.937e-4, 2.917e-4, 1.536e-4}, [3]float64{2.389, 3.242, 3.681}},
	{320_000, [3]float64{1.862e-4, 2.608e-5, 4.178e-6}, [3]float64{7.208e-5, 7.613e-6, 9.843e-7}, [3]float64{2.583, 3.426, 4.245}},
}

var tableIX = []rates{
	{80_000, [3]float64{2.392e-2, 2.155e-2, 2.549e-2}, [3]float64{1.365e-2, 1.038e-2, 1.109e-2}, [3]float64{1.752, 2.076, 2.298}},
	{160_000, [3]float64{2.373e-3, 9.452e-4, 5.683e-4}, [3]float64{1.254e-3, 4.058e-4, 2.067e-4}, [3]float64{1.892, 2.329, 2.749}},
	{320_000, [3]float64{1.866e-4, 2.555e-5, 4.735e-6}, [3]float64{9.578e-5, 1.007e-5, 1.720e-6}, [3]float64{1.949, 2.538, 2.725}},
}

var tableX = []rates{
	{80_000, [3]float64{2.205e-2, 1.946e-2, 2.261e-2}, [3]float64{5.866e-3, 3.586e-3, 3.353e-3}, [3]float64{3.759, 5.425, 6.744}},
	{160_000, [3]float64{2.155e-3, 8.327e-4, 4.810e-4}, [3]float64{5.153e-4, 1.207e-4, 5.434e-5}, [3]float64{4.183, 6.898, 8.851}},
	{240_000, [3]float64{4.903e-4, 1.057e-4, 3.133e-5}, [3]float64{1.094e-4, 1.439e-5, 2.302e-6}, [3]float64{4.481, 7.342, 13.610}},
	{320_000, [3]float64{1.704e-4, 2.136e-5, 3.146e-6}, [3]float64{3.975e-5, 3.332e-6, 3.635e-7}, [3]float64{4.286, 6.409, 8.653}},
	{640_000, [3]float64{1.104e-5, 5.302e-7, 0}, [3]float64{2.585e-6, 6.564e-8, 0}, [3]float64{4.270, 8.077, lab.None}},
}
