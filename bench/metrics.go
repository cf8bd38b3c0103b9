package main

import (
	"context"
	"io"
	"net/http"

	"github.com/reagent-dev/reagent/internal/app/devserver"
)

// metrics returns the page of the server's metrics, in the text format of Prometheus.
func metrics(ctx context.Context, server *devserver.Server) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.MetricsURL(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
