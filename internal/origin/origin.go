// Package origin lets pages of other origins use a server (CORS).
package origin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Check returns an error for an origin that no browser sends.
func Check(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.ContainsAny(origin, "*@") {
			return fmt.Errorf("%q is not the origin of a page: write its address without a path, such as https://temporal.example.com", origin)
		}
	}
	return nil
}

// Allow reports whether a request comes from a page of one of the origins. If so, it lets the page read the answer.
func Allow(w http.ResponseWriter, r *http.Request, origins []string) bool {
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(origins, origin) {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	return true
}

// Preflight answers a browser that asks whether a page may send a request. The caller has checked the page's origin with [Allow].
func Preflight(w http.ResponseWriter, r *http.Request, methods, headers string) {
	w.Header().Set("Access-Control-Allow-Methods", methods)
	w.Header().Set("Access-Control-Allow-Headers", headers)
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		w.Header().Set("Access-Control-Allow-Private-Network", "true")
	}
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
