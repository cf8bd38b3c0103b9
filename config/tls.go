package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLS has the files for a TLS connection. A worker reads CertFile and KeyFile for each new connection, so they may change, and CAFile when it
// starts.
type TLS struct {
	// CertFile and KeyFile have the client's certificate and its private key, in PEM. Both are set or none is.
	CertFile, KeyFile string
	// CAFile has the certificates, in PEM, that may sign the endpoint's certificate. Empty means those of the system.
	CAFile string
}

func (r *reader) tls(t *TLS) keys {
	return keys{
		"tls_cert_file": {"The file with the client's certificate, in PEM; needs tls_key_file.", r.filePath(&t.CertFile)},
		"tls_key_file":  {"The file with the private key of the client's certificate, in PEM; needs tls_cert_file.", r.filePath(&t.KeyFile)},
		"tls_ca_file":   {"The file with the certificates, in PEM, that may sign that of the endpoint. Without it, those of the system may.", r.filePath(&t.CAFile)},
	}
}

func (r *reader) checkTLS(path string, t TLS) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		r.problemf(path, "has only one of tls_cert_file and tls_key_file; write both")
	}
}

// Config returns the configuration of a TLS connection; nil if no file is named. The client's certificate is read for each connection. Config
// returns an error if a file cannot be read, or has no certificate or key in PEM.
func (t TLS) Config() (*tls.Config, error) {
	var problem error
	made := t.config(func(field, text string) { problem = fmt.Errorf("%s: %s", field, text) })
	if problem != nil {
		return nil, problem
	}
	return made, nil
}

func (t TLS) config(report func(field, problem string)) *tls.Config {
	if t == (TLS{}) {
		return nil
	}
	made := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CertFile != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
			if err != nil {
				return nil, fmt.Errorf("tls_cert_file and tls_key_file: %w", err)
			}
			return &pair, nil
		}
		if _, err := load(); err != nil {
			report("tls_cert_file", err.Error())
		}
		made.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	if t.CAFile != "" {
		encoded, err := os.ReadFile(t.CAFile)
		made.RootCAs = x509.NewCertPool()
		switch {
		case err != nil:
			report("tls_ca_file", err.Error())
		case !made.RootCAs.AppendCertsFromPEM(encoded):
			report("tls_ca_file", "the file "+t.CAFile+" has no certificate in PEM")
		}
	}
	return made
}
