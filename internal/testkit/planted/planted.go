// Package planted searches the files of a program for words that a test has planted.
package planted

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
)

// maxUnpacked limits what is read of one compressed text.
const maxUnpacked = 8 << 20

// In searches all files below a folder. The result has the words that it has found, with the first place and form of each. A word is found as it
// is, in hex, in base64 at each of the three offsets, and in texts that are compressed with gzip or zlib and may themselves be in base64. Words
// of ASCII letters, digits and hyphens look the same in JSON and in URLs, so use only those, with 12 bytes or more.
//
// A database may cut a long value at the end of a page, and a word with it. So plant each word several times in its text.
func In(dir string, words []string) (map[string]string, error) {
	found := map[string]string{}
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		search(name, content, words, found)
		return nil
	})
	return found, err
}

// Text searches a text as [In] searches a file.
func Text(text string, words []string) map[string]string {
	found := map[string]string{}
	search("text", []byte(text), words, found)
	return found
}

func search(place string, content []byte, words []string, found map[string]string) {
	for _, word := range words {
		for _, f := range formsOf(word) {
			if found[word] == "" && bytes.Contains(content, f.bytes) {
				found[word] = place + ", " + f.name
			}
		}
	}
	for _, text := range unpacked(content) {
		search(place+", compressed", text, words, found)
	}
	for _, run := range encodedRun.FindAll(content, -1) {
		for offset := range 4 { // characters before the text may belong to the run
			decoded, _ := base64.RawStdEncoding.DecodeString(string(run[offset : offset+(len(run)-offset)/4*4]))
			for _, text := range unpacked(decoded) {
				search(place+", compressed, base64", text, words, found)
			}
		}
	}
}

var encodedRun = regexp.MustCompile(`[A-Za-z0-9+/]{40,}`)

type form struct {
	name  string
	bytes []byte
}

func formsOf(word string) []form {
	forms := []form{{"as it is", []byte(word)}, {"hex", []byte(hex.EncodeToString([]byte(word)))}}
	for offset := range 3 {
		// The first and the last characters also encode bytes beside the word.
		encoded := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00\x00"[:offset] + word))
		forms = append(forms, form{fmt.Sprintf("base64 at offset %d", offset), []byte(encoded[(offset*4+2)/3 : len(encoded)-1])})
	}
	return forms
}

// unpacked returns what each compressed text in some bytes contains, up to its end or to the first damage.
func unpacked(content []byte) [][]byte {
	var all [][]byte
	for i := range content {
		var text []byte
		switch at := content[i:]; {
		case bytes.HasPrefix(at, []byte{0x1f, 0x8b, 8}):
			if z, err := gzip.NewReader(bytes.NewReader(at)); err == nil {
				z.Multistream(false)
				text, _ = io.ReadAll(io.LimitReader(z, maxUnpacked)) // what comes before the damage counts
			}
		case len(at) > 2 && at[0] == 0x78 && slices.Contains([]byte{0x01, 0x5e, 0x9c, 0xda}, at[1]):
			if z, err := zlib.NewReader(bytes.NewReader(at)); err == nil {
				text, _ = io.ReadAll(io.LimitReader(z, maxUnpacked))
			}
		}
		if len(text) > 0 {
			all = append(all, text)
		}
	}
	return all
}
