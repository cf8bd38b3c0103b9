package config

import (
	"cmp"
	"path/filepath"
	"strings"
)

// LoadPart is [Load] for a program that goes on after a mistake, such as a check. Beside an [*Error], it returns the configuration as far as
// it could be read: a value with a mistake is missing there, or has its default. [Config.Broken] tells what has a mistake. The
// configuration is nil if the file is not a mapping in YAML, or cannot be read.
//
// LoadPart is for a worker whose tools are all in the configuration: it suggests no others.
//
// [Config.CheckTools], [Config.CheckEnvironment] and [Config.CheckFiles] report no mistake that only follows from one of the [*Error].
func LoadPart(path string) (*Config, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return parsePart(path, data, true)
}

func parsePart(name string, data []byte, onlyOwnTools bool) (*Config, error) {
	top, p := document(name, data)
	if p != nil {
		return nil, newError([]Problem{*p})
	}
	r := &reader{source: source{file: name, lines: map[string]int{"": top.Line}}, failed: map[string]bool{}, onlyOwnTools: onlyOwnTools}
	cfg := r.config(place{node: top})
	r.check(cfg)
	if r.hasProblem("") {
		return nil, newError(r.problems)
	}
	cfg.Tools.Root = cmp.Or(cfg.Tools.Root, filepath.Dir(name))
	if shell := cfg.Tools.Shell; shell != nil {
		shell.Folder = cmp.Or(shell.Folder, cfg.Tools.Root)
	}
	cfg.source = r.source
	if len(r.problems) > 0 {
		cfg.failed = r.failed
	}
	return cfg, newError(r.problems)
}

// Broken returns the path of a mistake that [LoadPart] has found in the value with the given path, such as `agents.assistant` or
// `agents.assistant.tools[0]`, or below it; "" if there is none. If there are several, it is the first in alphabetical order.
func (c *Config) Broken(path string) string {
	for _, failed := range sorted(c.failed) {
		if within(failed, path) {
			return failed
		}
	}
	return ""
}

func within(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// found returns an [*Error] with the problems, but without those that follow from a problem of the file. In an object with such a problem,
// the others count only if the file has their fields: the key of a model with a misspelt `api_key_env` would otherwise be missing.
func (c *Config) found(problems []Problem) error {
	var all []Problem
	for _, p := range problems {
		if !c.follows(p.Field) {
			all = append(all, p)
		}
	}
	return newError(all)
}

func (c *Config) follows(path string) bool {
	if c.failed[path] {
		return true
	}
	section, rest, _ := strings.Cut(path, ".")
	name, _, _ := strings.Cut(rest, ".")
	object := section
	if section != "callbacks" && section != "builtin" {
		object += "." + name
	}
	_, present := c.source.lines[path]
	return !present && c.Broken(object) != ""
}
