// Package endpoint has what the clients of all model endpoints have in common: it sends requests, limits the size and the time of
// responses, reads event streams, and makes the errors. It recognises the class of an error by the status, the codes and the texts that
// providers send.
package endpoint
