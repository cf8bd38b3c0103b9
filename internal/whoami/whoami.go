// Package whoami names the user and the machine of this process. Nothing proves these names.
package whoami

import (
	"cmp"
	"os"
	"os/user"
	"strconv"
)

// User returns the name of the user of this process, or "uid " and the user's number if the name is not known. A cron job or a
// container may not have the environment variables, and a container may have no entry for its user.
func User() string {
	if name := cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME")); name != "" {
		return name
	}
	if found, err := user.Current(); err == nil && found.Username != "" {
		return found.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// Machine returns the name of this machine; empty if the system does not tell it.
func Machine() string {
	host, _ := os.Hostname() // empty after an error
	return host
}
