package front

import (
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/gateway"
	"github.com/reagent-dev/reagent/gateway/access"
	"github.com/reagent-dev/reagent/gateway/page"
)

const signInPath, signOutPath = "/sign-in", "/sign-out"

// addPage adds the page for people.
func addPage(mux *http.ServeMux, control *access.Control, o Options) {
	var agents []page.Agent
	for _, a := range o.Gateway.Agents() {
		agents = append(agents, page.Agent{Name: a.Name, Description: a.Description})
	}
	pages := page.New(page.Options{
		Client: o.Gateway.Client, Agents: agents, Namespace: o.Gateway.Namespace, WebUI: o.WebUI, SignOut: signOutPath, Log: o.Log,
		Caller: func(r *http.Request) page.Caller {
			c := access.FromContext(r.Context())
			return page.Caller{Name: c.Name, ProvedBy: c.ProvedBy, SeesAll: c.All, May: func(scope, agent string) bool { return c.May(access.Scope(scope), agent) }}
		},
	})
	mux.Handle("/", control.Handler(pages))
	mux.Handle("GET /assets/", control.Public(pages))
	mux.Handle(signInPath, control.Public(page.SignIn(signInPath, func(w http.ResponseWriter, r *http.Request, credential string) error {
		if _, refused := control.Login(w, r, credential); refused != nil {
			return refused
		}
		return nil
	})))
	mux.Handle("POST "+signOutPath, control.Public(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control.Logout(w)
		http.Redirect(w, r, signInPath, http.StatusSeeOther)
	})))
}

// onError answers a request that package access has refused: for a program in the form of OpenAI's API, and for a person with the form to sign
// in, or with a line of text.
func onError(w http.ResponseWriter, r *http.Request, e *access.Error) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		gateway.OnError(w, r, e)
	case e.Status == http.StatusUnauthorized && r.Method == http.MethodGet:
		w.Header().Del("WWW-Authenticate") // the browser would ask for a password
		http.Redirect(w, r, signInPath, http.StatusSeeOther)
	default:
		http.Error(w, e.Message, e.Status)
	}
}
