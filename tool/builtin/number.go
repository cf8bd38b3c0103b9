package builtin

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxBits limits the size of an exact number. The size is the number of bits of the numerator and of the denominator together.
// The limit is about 3,000 decimal digits. Larger numbers could take too much time and memory.
const maxBits = 10_000

var (
	errDivisionByZero = errors.New("division by zero")
	errTooLarge       = errors.New("the result is too large")
	errNotReal        = errors.New("the result is not a real number")
)

// number is a value of the calculator. It is either an exact fraction or an approximate float64. For example, pi and the
// results of `sin` are approximate. A fraction that is too long also becomes approximate; see [exact].
type number struct {
	rat   *big.Rat // nil if the number is approximate
	float float64  // the value if rat is nil
}

// exact converts a fraction into a number. The number is exact if the fraction has at most [maxBits] bits. A longer fraction
// becomes an approximate number. exact returns an error if the approximate number would be too large for a float64.
func exact(r *big.Rat) (number, error) {
	if r.Num().BitLen()+r.Denom().BitLen() > maxBits {
		f, _ := r.Float64()
		return approximate(f)
	}
	return number{rat: r}, nil
}

func approximate(f float64) (number, error) {
	switch {
	case math.IsNaN(f):
		return number{}, errNotReal
	case math.IsInf(f, 0):
		return number{}, errTooLarge
	}
	return number{float: f}, nil
}

func (n number) float64() float64 {
	if n.rat != nil {
		f, _ := n.rat.Float64()
		return f
	}
	return n.float
}

func (n number) sign() int { return n.compare(number{rat: new(big.Rat)}) }

func (n number) compare(m number) int {
	if n.rat != nil && m.rat != nil {
		return n.rat.Cmp(m.rat)
	}
	return cmp.Compare(n.float64(), m.float64())
}

func (n number) negate() number {
	if n.rat != nil {
		return number{rat: new(big.Rat).Neg(n.rat)}
	}
	return number{float: -n.float}
}

// combine applies an operation to two numbers: `exactly` if both are exact, and `nearly` if not.
func (n number) combine(m number, exactly func(to, x, y *big.Rat) *big.Rat, nearly func(x, y float64) float64) (number, error) {
	if n.rat != nil && m.rat != nil {
		return exact(exactly(new(big.Rat), n.rat, m.rat))
	}
	return approximate(nearly(n.float64(), m.float64()))
}

func (n number) add(m number) (number, error) {
	return n.combine(m, (*big.Rat).Add, func(x, y float64) float64 { return x + y })
}

func (n number) multiply(m number) (number, error) {
	return n.combine(m, (*big.Rat).Mul, func(x, y float64) float64 { return x * y })
}

func (n number) divide(m number) (number, error) {
	if m.sign() == 0 {
		return number{}, errDivisionByZero
	}
	return n.combine(m, (*big.Rat).Quo, func(x, y float64) float64 { return x / y })
}

// The remainder has the sign of `n`, as with Go's operator %.
func (n number) remainder(m number) (number, error) {
	if m.sign() == 0 {
		return number{}, errDivisionByZero
	}
	return n.combine(m, func(q, x, y *big.Rat) *big.Rat {
		q.Quo(x, y)
		whole := new(big.Int).Quo(q.Num(), q.Denom())
		return q.Sub(x, q.Mul(y, new(big.Rat).SetInt(whole)))
	}, math.Mod)
}

// power returns `n` to the power of `m`. The result is exact if `n` is exact, `m` is a whole number, and the bits of `n` times the absolute
// value of `m` are at most [maxBits]. In all other cases the result is approximate. A negative power of 0 is an error, and so is a result
// that is not real or too large for a float64.
func (n number) power(m number) (number, error) {
	if n.sign() == 0 && m.sign() < 0 {
		return number{}, errDivisionByZero
	}
	if n.rat != nil && m.rat != nil && m.rat.IsInt() && m.rat.Num().IsInt64() {
		e := m.rat.Num().Int64()
		bits := int64(n.rat.Num().BitLen() + n.rat.Denom().BitLen())
		if size := max(e, -e); size >= 0 && size <= maxBits/bits {
			base := n.rat
			if e < 0 {
				base = new(big.Rat).Inv(base)
			}
			exponent := big.NewInt(size)
			return exact(new(big.Rat).SetFrac(
				new(big.Int).Exp(base.Num(), exponent, nil),
				new(big.Int).Exp(base.Denom(), exponent, nil)))
		}
	}
	return approximate(math.Pow(n.float64(), m.float64()))
}

// String formats the number for the model. An exact whole number is shown with all its digits. Any other number is rounded to
// 15 significant digits, because further digits of a float64 may be rounding errors.
func (n number) String() string {
	if n.rat != nil && n.rat.IsInt() {
		return n.rat.Num().String()
	}
	text := strconv.FormatFloat(n.float64(), 'g', 15, 64)
	mantissa, exponent, scientific := strings.Cut(text, "e")
	if scientific {
		if e, err := strconv.Atoi(exponent); err == nil && -7 <= e && e <= 20 {
			f, _ := strconv.ParseFloat(text, 64)
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
		return mantissa + "e" + exponent
	}
	return text
}
