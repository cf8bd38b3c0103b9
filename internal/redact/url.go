package redact

import (
	"net/url"
	"strings"
)

// URLParts returns the parts of a URL that may be secret, because the URL of a webhook often contains a key: the segments of its path,
// and the values in its query. It returns nil if the URL is not valid.
func URLParts(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	parts := strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	return parts
}
