package audit

import "github.com/reagent-dev/reagent/internal/app/object"

// Forge returns lines with all hashes made anew.
func Forge(lines []object.AuditLine) []object.AuditLine {
	var forged []object.AuditLine
	before := ""
	for i, l := range lines {
		l = seal(hashed(l), i+1, before)
		before = l.Hash
		forged = append(forged, l)
	}
	return forged
}
