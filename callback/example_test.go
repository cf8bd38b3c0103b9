package callback_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	temporal "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/callback"
	"github.com/reagent-dev/reagent/client"
)

// A program accepts the results of external calls on its own server. Its secret is that of the workers.
func ExampleNew() {
	c, err := temporal.NewLazyClient(temporal.Options{})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	handler, err := callback.New(client.New(c, ""), callback.Options{Secret: "a-secret-of-at-least-24-bytes"})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/callbacks/{token}", handler)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/callbacks/forged", strings.NewReader("done")))
	fmt.Println(w.Code, w.Body)
	// Output:
	// 401 {"field":"token","error":"the token at the end of the URL is not valid; use the URL in the field callback of the notification, as it is"}
}
