package redact

import "strings"

// IsSetting reports whether an HTTP header or a parameter of a query holds a setting, which is no secret. The parameter is its name.
// The values of settings, such as the version of an API, may look random.
func IsSetting(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "api-version", "http-referer", "user-agent", "content-type", "accept", "x-title":
		return true
	}
	return strings.HasSuffix(name, "-beta") || strings.HasSuffix(name, "-version")
}
