package gateway

import (
	"net/http"

	"github.com/reagent-dev/reagent/gateway/access"
)

// model is an agent in the form of a model.
type model struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Description string `json:"description,omitempty"`
}

// models returns the agents with which the caller may talk.
func (g *Gateway) models(req *http.Request) []model {
	all := []model{}
	caller := access.FromContext(req.Context())
	for _, a := range g.agents() {
		if caller.May(access.Talk, a.Name) {
			all = append(all, model{ID: a.Name, Object: "model", OwnedBy: "reagent", Description: a.Description})
		}
	}
	return all
}

func (g *Gateway) listModels(w http.ResponseWriter, req *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": g.models(req)})
	return nil
}

func (g *Gateway) getModel(w http.ResponseWriter, req *http.Request) error {
	for _, m := range g.models(req) {
		if m.ID == req.PathValue("id") {
			writeJSON(w, http.StatusOK, m)
			return nil
		}
	}
	return missing("the model", req.PathValue("id"))
}
