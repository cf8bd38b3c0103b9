package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"
)

const (
	maxShortID = 40 // characters of an ID that OpenAI accepts
	nineLength = 9  // characters of an ID that Mistral accepts
)

// callID returns the ID of a call as the form demands it. An ID that another provider made may have another length, or characters that
// are not allowed. callID then returns a hash of it, so the same ID always gives the same result.
func (f form) callID(id string) string {
	sum := sha256.Sum256([]byte(id))
	switch {
	case f.has(nineIDs) && (len(id) != nineLength || strings.ContainsFunc(id, notAlphanumeric)):
		digits := strings.Repeat("0", nineLength) + new(big.Int).SetBytes(sum[:]).Text(62)
		return digits[len(digits)-nineLength:]
	case f.has(shortIDs) && len(id) > maxShortID:
		return "call_" + hex.EncodeToString(sum[:12])
	}
	return id
}

func notAlphanumeric(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
