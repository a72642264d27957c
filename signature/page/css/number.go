package css

import (
	"errors"
	"math"
	"strconv"
)

const (
	mostNumber = math.MaxFloat32 // greater ones count as this, as a browser clamps a length that is too large
	mostDigits = 1 << 53         // further digits of a number do not change it
	mostPower  = 1 << 10         // of ten
)

// Number reads a number, which may have an exponent. Each of its bytes costs the same: strconv.ParseFloat, with which it
// agrees but for the last of very many digits, takes 20 us for "9e308".
func Number(s string) (n float64, ok bool) {
	sign := 1.0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	power, i, isFraction := 0, 0, false
	for ; i < len(s) && ('0' <= s[i] && s[i] <= '9' || s[i] == '.' && !isFraction); i++ {
		if s[i] == '.' {
			isFraction = true
			continue
		}
		if ok = true; n < mostDigits {
			n, power = n*10+float64(s[i]-'0'), power-1
		}
		if !isFraction {
			power++
		}
	}
	if i < len(s) {
		exponent, err := strconv.Atoi(s[i+1:])
		if s[i]|0x20 != 'e' || err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, false
		}
		power += max(-math.MaxInt32, min(exponent, math.MaxInt32))
	}
	return sign * min(scaled(n, max(-mostPower, min(power, mostPower))), mostNumber), ok
}

// scaled returns n times a power of ten. A division is exact where a factor such as 0.1 is not.
func scaled(n float64, power int) float64 {
	switch {
	case n == 0:
		return 0
	case power < 0:
		return n / math.Pow10(-power)
	}
	return n * math.Pow10(power)
}
