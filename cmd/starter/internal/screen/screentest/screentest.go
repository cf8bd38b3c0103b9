// Package screentest has what the tests of packages that draw on a terminal share.
package screentest

import "regexp"

// Styling matches a sequence that sets colour or weight, which is the only kind that these packages write.
var Styling = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// Hostile returns texts that a model writes to control the terminal of the reader.
func Hostile() []string {
	return []string{
		"\x1b]0;title\a\x1b[2J", "\x9b31m \u009b31m", "&#27;[31m red", "&#x1b;]0;x&#7;", "&#155;2J", "&amp;#27;[2J", "<p>&amp;#27;[2J</p>", "&ZeroWidthSpace;&rlm;&shy;",
		"[a](http://x/\x1b[2J)", "[a](<http://x/&#27;]8;;>)", "![i](http://x/&#x9b;2J)", "`\x1b[2J`", "```\n\x1b[2J\n```", "```\x1b[2J\nx\n```",
		"| \x1b[2J | &#27; |\n|---|---|\n| a | b |", "<a href=\"&#27;\">x</a>", "&lt;&#27;&gt;", "\\\x1b[2J", "&\\#27;", "http://x/&#27;[2J", "a\u202eb\u200bc\r\n\rd\u2028e", "[x]: &#27;\n\n[x]",
	}
}
