package agent

import (
	"fmt"
	"math"
	"math/bits"
)

// Money is an amount of money, as a whole number of 10⁻¹² US dollars. Sums of whole numbers need no rounding, and are
// the same on every machine. For example, a price of 0.15 dollars per million tokens is 150,000 for each token.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1e12

// Dollars returns an amount of US dollars, rounded to the nearest whole 10⁻¹² dollars, such as Dollars(1.5). An amount that is too large
// becomes [MaxMoney], and one that is too far below zero becomes the lowest Money. An amount that is not a number becomes -1, which no
// limit and no price may be.
func Dollars(amount float64) Money {
	switch whole := math.Round(amount * float64(Dollar)); {
	case math.IsNaN(whole):
		return -1
	case whole >= float64(MaxMoney):
		return MaxMoney
	default:
		return Money(max(whole, math.MinInt64))
	}
}

// MaxMoney is the largest amount, about 9 million US dollars. Sums and products that are larger become MaxMoney.
const MaxMoney Money = math.MaxInt64

// Dollars returns the amount in US dollars. The result is not exact. Use it for display and for search attributes
// only.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// String returns the amount in dollars, rounded to a hundredth of a cent, such as "$0.1260".
func (m Money) String() string {
	sign, amount := "", uint64(m)
	if m < 0 {
		sign, amount = "-", -uint64(m)
	}
	hundredths := (amount + uint64(Dollar)/20_000) / (uint64(Dollar) / 10_000)
	if hundredths == 0 {
		sign = ""
	}
	return fmt.Sprintf("%s$%d.%04d", sign, hundredths/10_000, hundredths%10_000)
}

// Add returns the sum of m and n. A negative amount counts as 0, and a sum above [MaxMoney] is MaxMoney. So a sum is never less than
// one of its parts.
func (m Money) Add(n Money) Money {
	m, n = max(m, 0), max(n, 0)
	return m + min(n, MaxMoney-m)
}

// Times returns the price of n tokens that cost m each. A negative price and a negative number count as 0, and a product above
// [MaxMoney] is MaxMoney.
func (m Money) Times(n int) Money {
	high, low := bits.Mul64(uint64(max(m, 0)), uint64(max(n, 0)))
	if high > 0 || low > uint64(MaxMoney) {
		return MaxMoney
	}
	return Money(low)
}
