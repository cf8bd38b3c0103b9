package printable

import "strings"

// LastLines returns the last `n` lines of the output of a program, without empty lines at the end. It makes them safe to print: see
// [Text]. Tabs become two spaces. A program may write a line anew after a carriage return: of such a line, LastLines returns the newest
// text. The result does not end with a line break.
func LastLines(output string, n int) string {
	lines := strings.Split(strings.TrimRight(output, "\r\n"), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		lines[i] = strings.ReplaceAll(Text(line), "\t", "  ")
	}
	return strings.Join(lines, "\n")
}
