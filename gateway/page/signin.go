package page

import (
	"log/slog"
	"net/http"
)

// signInPage is what the page shows to a person who is not signed in.
type signInPage struct{ Action, Problem string }

// SignIn returns the handler of the path at which people sign in: GET shows the form, and POST calls `login` with what was typed. If `login`
// returns an error, the form shows it; otherwise the browser goes to the conversations. The handler must be reachable without a session, as
// must the paths below "/assets/".
func SignIn(path string, login func(w http.ResponseWriter, r *http.Request, credential string) error) http.Handler {
	h := &handler{Options: Options{Caller: func(*http.Request) Caller { return Caller{} }, Log: slog.Default()}}
	return secured(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			h.render(w, r, http.StatusOK, "signin", "Sign in", signInPage{Action: path})
			return
		}
		if err := login(w, r, r.PostFormValue("key")); err != nil {
			h.render(w, r, http.StatusForbidden, "signin", "Sign in", signInPage{Action: path, Problem: err.Error()})
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}))
}
