package processgroup

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// Environ returns the environment of a process, as a list of NAME=value. The list has a few variables of the worker, such as PATH,
// and all variables in `extra`. If a variable is in both, the value in `extra` is used.
func Environ(extra map[string]string) []string {
	inherited := []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
	if runtime.GOOS == "windows" {
		inherited = []string{"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
			"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"}
	}
	env := []string{} // with nil, os/exec would use the worker's whole environment
	for _, name := range inherited {
		value, ok := os.LookupEnv(name)
		if _, set := extra[name]; ok && !set && !strings.HasPrefix(value, "()") { // "()" begins an exported shell function
			env = append(env, name+"="+value)
		}
	}
	for name, value := range extra {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
