package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/gateway/access"
)

var idLetters = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// hashed returns a short name for texts. Each text is hashed with its length, so that no two lists of texts are the same.
func hashed(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}
	return idLetters.EncodeToString(h.Sum(nil)[:15])
}

// maxHeaderBytes limits a header with the ID of a conversation or of a message.
const maxHeaderBytes = 500

// header returns the first of the headers that is set.
func header(req *http.Request, names ...string) (string, error) {
	for _, name := range names {
		if value := req.Header.Get(name); value != "" {
			if len(value) > maxHeaderBytes {
				return "", invalid("", "the header "+name+" is longer than "+strconv.Itoa(maxHeaderBytes)+" bytes")
			}
			return value, nil
		}
	}
	return "", nil
}

// retries reports whether the client says that it sends the request again. OpenAI's libraries say so.
func retries(req *http.Request) bool {
	n, err := strconv.Atoi(req.Header.Get("X-Stainless-Retry-Count"))
	return err == nil && n > 0
}

// messageID returns the ID for the message of a request. The same Idempotency-Key of the same caller gives the same ID.
func messageID(req *http.Request) (id string, repeatable bool, err error) {
	key, err := header(req, "Idempotency-Key")
	if err != nil || key == "" {
		return uuid.NewString(), false, err
	}
	return "key-" + hashed(access.FromContext(req.Context()).Name, key), true, nil
}

// agentPrefix begins the IDs of agents that the gateway has started.
const agentPrefix = "gw-"

// maxCandidates limits the agents whose transcripts are compared with a request, newest first.
const maxCandidates = 30

// begun returns the IDs of the agents whose ID begins with a text, newest first.
func (g *Gateway) begun(ctx context.Context, base string) ([]string, error) {
	var found []client.Entry
	for e, err := range g.client.List(ctx, client.ListOptions{IDPrefix: base}) {
		if err != nil {
			return nil, err
		}
		if found = append(found, e); len(found) == 2*maxCandidates { // those that have not ended come first, and all in the order of time
			break
		}
	}
	slices.SortStableFunc(found, func(x, y client.Entry) int { return y.Started.Compare(x.Started) })
	var ids []string
	for _, e := range found[:min(len(found), maxCandidates)] {
		ids = append(ids, e.ID)
	}
	return ids, nil
}
