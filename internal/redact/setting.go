package redact

import "strings"

// IsSetting reports whether an HTTP header or a query parameter with this name has a setting and not a secret as its value. The values of
// settings, such as the version of an API, may look random.
func IsSetting(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "api-version", "http-referer", "user-agent", "content-type", "accept", "x-title":
		return true
	}
	return strings.HasSuffix(name, "-beta") || strings.HasSuffix(name, "-version")
}
