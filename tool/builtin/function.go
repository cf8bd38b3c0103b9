package builtin

import (
	"maps"
	"math"
	"math/big"
	"slices"
)

type function struct {
	least, most int // the smallest and the largest number of arguments
	call        func([]number) (number, error)
}

// many is the maximum number of arguments of functions such as `min` and `max`. In practice there is no maximum, because an
// expression of at most [maxExpression] bytes cannot have more arguments.
const many = maxExpression

var functions = map[string]function{
	"abs": {1, 1, func(v []number) (number, error) {
		if v[0].sign() < 0 {
			return v[0].negate(), nil
		}
		return v[0], nil
	}},
	"min":   {1, many, func(v []number) (number, error) { return slices.MinFunc(v, number.compare), nil }},
	"max":   {1, many, func(v []number) (number, error) { return slices.MaxFunc(v, number.compare), nil }},
	"sqrt":  {1, 1, squareRoot},
	"pow":   {2, 2, func(v []number) (number, error) { return v[0].power(v[1]) }},
	"floor": {1, 1, func(v []number) (number, error) { return toWhole(v[0], math.Floor) }},
	"ceil":  {1, 1, func(v []number) (number, error) { return toWhole(v[0], math.Ceil) }},
	"trunc": {1, 1, func(v []number) (number, error) { return toWhole(v[0], math.Trunc) }},
	"round": {1, 2, round},
	"log":   {1, 2, logarithm},
	"ln":    ofFloat(math.Log),
	"log2":  ofFloat(math.Log2),
	"log10": ofFloat(math.Log10),
	"exp":   ofFloat(math.Exp),
	"cbrt":  ofFloat(math.Cbrt),
	"sin":   ofFloat(math.Sin),
	"cos":   ofFloat(math.Cos),
	"tan":   ofFloat(math.Tan),
	"asin":  ofFloat(math.Asin),
	"acos":  ofFloat(math.Acos),
	"atan":  ofFloat(math.Atan),
	"sinh":  ofFloat(math.Sinh),
	"cosh":  ofFloat(math.Cosh),
	"tanh":  ofFloat(math.Tanh),
	"atan2": {2, 2, func(v []number) (number, error) { return approximate(math.Atan2(v[0].float64(), v[1].float64())) }},
	"hypot": {2, 2, func(v []number) (number, error) { return approximate(math.Hypot(v[0].float64(), v[1].float64())) }},
}

func functionNames() []string { return slices.Sorted(maps.Keys(functions)) }

// The results are approximate, because package math computes with float64.
func ofFloat(f func(float64) float64) function {
	return function{1, 1, func(v []number) (number, error) { return approximate(f(v[0].float64())) }}
}

// squareRoot returns the square root of `v[0]`. The result is exact if this number is exact and its square root is a whole number
// or a fraction. In all other cases it is approximate.
func squareRoot(v []number) (number, error) {
	if r := v[0].rat; r != nil && r.Sign() >= 0 {
		root := new(big.Rat).SetFrac(new(big.Int).Sqrt(r.Num()), new(big.Int).Sqrt(r.Denom()))
		if new(big.Rat).Mul(root, root).Cmp(r) == 0 {
			return exact(root)
		}
	}
	return approximate(math.Sqrt(v[0].float64()))
}

func logarithm(v []number) (number, error) {
	if len(v) == 1 {
		return approximate(math.Log(v[0].float64()))
	}
	base, err := approximate(math.Log(v[1].float64()))
	if err != nil {
		return number{}, err
	}
	x, err := approximate(math.Log(v[0].float64()))
	if err != nil {
		return number{}, err
	}
	return x.divide(base)
}

// A half is rounded away from zero.
func round(v []number) (number, error) {
	if len(v) == 1 {
		return toWhole(v[0], math.Round)
	}
	ten, err := (number{rat: big.NewRat(10, 1)}).power(v[1])
	if err != nil {
		return number{}, err
	}
	scaled, err := v[0].multiply(ten)
	if err != nil {
		return number{}, err
	}
	whole, err := toWhole(scaled, math.Round)
	if err != nil {
		return number{}, err
	}
	return whole.divide(ten)
}

// The result is exact even if a float64 cannot represent `n`.
func toWhole(n number, f func(float64) float64) (number, error) {
	if n.rat == nil {
		r := new(big.Rat).SetFloat64(f(n.float)) // f returns a whole number, and n.float is finite
		return exact(r)
	}
	// f gets only the fractional part of n. The whole part stays exact.
	whole := new(big.Int).Quo(n.rat.Num(), n.rat.Denom())
	rest := new(big.Rat).Sub(n.rat, new(big.Rat).SetInt(whole))
	left, _ := rest.Float64()
	// The conversion to float64 may round a fractional part near 0, ½ or 1 to exactly 0, ½ or 1. For such a value, f may
	// return another result. f returns the same result for all values between 0 and ½, and for all values between ½ and 1.
	// The same is true for negative values. So a number that was rounded in this way is replaced by ±¼ or ±¾.
	switch half := big.NewRat(1, 2); {
	case rest.Sign() != 0 && left == 0:
		left = math.Copysign(0.25, float64(rest.Sign()))
	case math.Abs(left) == 1:
		left *= 0.75
	case math.Abs(left) == 0.5 && new(big.Rat).Abs(rest).Cmp(half) != 0:
		left = math.Copysign(0.5+0.25*float64(new(big.Rat).Abs(rest).Cmp(half)), left)
	}
	return exact(new(big.Rat).SetInt(whole.Add(whole, big.NewInt(int64(f(left))))))
}
