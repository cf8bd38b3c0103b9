package redact

type hiddenError struct {
	error
	text string
}

// Error returns an error with the text of the given error, but without the secrets. The new error wraps the given error. If
// the text contains no secret, Error returns the given error. Nil gives nil.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := r.Text(err.Error()); text != err.Error() {
		return hiddenError{err, text}
	}
	return err
}

// Error returns the text without the secrets.
func (e hiddenError) Error() string { return e.text }

// Unwrap returns the error whose text may contain secrets.
func (e hiddenError) Unwrap() error { return e.error }
