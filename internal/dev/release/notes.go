package main

import (
	"fmt"
	"strings"
)

// notesOf returns the section of the changelog for a version. A release candidate, such as v0.1.0-rc.1, has the section of what is not
// released yet. It is an error if the changelog does not have the section, or if the section is empty.
func notesOf(changelog, version string) (string, error) {
	name := strings.TrimPrefix(version, "v")
	if strings.Contains(name, "-") {
		name = "Unreleased"
	}
	_, section, found := strings.Cut(changelog, "\n## ["+name+"]")
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section [%s]: give the section [Unreleased] this name and the date", name)
	}
	_, section, _ = strings.Cut(section, "\n") // the date
	section, _, _ = strings.Cut(section, "\n## [")
	if section = strings.TrimSpace(section); section == "" {
		return "", fmt.Errorf("the section [%s] of CHANGELOG.md is empty; write what has changed", name)
	}
	return section + "\n", nil
}
