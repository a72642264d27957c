package testenv

// Check ends the test if there is an error. Besides testing.TB, t may be of package rapid.
func Check(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
