package judging

import "slices"

// Merged returns the elements of a and then those of b, without duplicates: a duplicate is
// joined to the first such element. It changes neither a nor b.
func Merged[T any](a, b []T, isSame func(T, T) bool, join func(*T, T)) []T {
	list := slices.Clone(a)
	for _, o := range b {
		i := slices.IndexFunc(list, func(t T) bool { return isSame(t, o) })
		if i < 0 {
			list = append(list, o)
		} else {
			join(&list[i], o)
		}
	}
	return list
}

// mergedNames returns the names of two lists, sorted and without duplicates.
func mergedNames(a, b []string) []string {
	names := slices.Concat(a, b)
	slices.Sort(names)
	return slices.Compact(names)
}
