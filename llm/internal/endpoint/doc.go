// Package endpoint has what the clients of all model endpoints have in common: the limits on the size and the time of a response, the
// reader of event streams, and the errors. It recognises the class of an error by the status, the codes and the texts that providers
// send.
package endpoint
