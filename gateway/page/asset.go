package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed page.css
var styleText []byte

//go:embed page.js
var scriptText []byte

// The names of the assets contain a hash of their content, so that a browser may keep them for ever.
var (
	styleName  = "page-" + hashOf(styleText) + ".css"
	scriptName = "page-" + hashOf(scriptText) + ".js"
)

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	content := map[string][]byte{styleName: styleText, scriptName: scriptText}[r.PathValue("name")]
	if content == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, r.PathValue("name"), time.Time{}, bytes.NewReader(content))
}
