package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/canon"
)

// texts returns the texts of a line that may be left out, by their names.
func texts(l *object.AuditLine) map[string]*string {
	return map[string]*string{"content": &l.Content, "arguments": &l.Arguments, "new_arguments": &l.NewArguments, "reason": &l.Reason}
}

// hashed returns the line with the hashes of its texts.
func hashed(l object.AuditLine) object.AuditLine {
	l.Hashes = nil
	for name, text := range texts(&l) {
		if *text == "" {
			continue
		}
		if l.Hashes == nil {
			l.Hashes = map[string]string{}
		}
		l.Hashes[name] = digest([]byte(*text))
	}
	return l
}

// WithoutTexts returns the line without its texts. Their hashes stay, and so does the hash of the line.
func WithoutTexts(l object.AuditLine) object.AuditLine {
	for _, text := range texts(&l) {
		*text = ""
	}
	return l
}

// seal returns the line with its place and its hash. `before` is the hash of the line before.
func seal(l object.AuditLine, line int, before string) object.AuditLine {
	l.Line, l.Before = line, before
	l.Hash = hashOf(l)
	return l
}

// hashOf returns the hash of everything in a line but the texts, which have hashes of their own.
func hashOf(l object.AuditLine) string {
	l = WithoutTexts(l)
	l.Hash = ""
	return canonicalHash(l)
}

// substance returns a hash of what a line says, wherever it stands in a trail.
func substance(l object.AuditLine) string {
	l.Line, l.Before = 0, ""
	return hashOf(l)
}

// canonicalHash panics for a value without canonical JSON. A line has only texts, numbers and times.
func canonicalHash(l object.AuditLine) string {
	text, err := canon.Value(l)
	if err != nil {
		panic(fmt.Sprintf("audit: %v", err))
	}
	return digest(text)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
