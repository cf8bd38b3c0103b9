package redact

type hiddenError struct {
	error
	text string // the text of the error without the secrets
}

// Error hides the secrets in the text of an error. The result wraps err, whose own text still contains them. If the text
// contains no secret, Error returns err itself.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := r.Text(err.Error()); text != err.Error() {
		return hiddenError{err, text}
	}
	return err
}

func (e hiddenError) Error() string { return e.text }

func (e hiddenError) Unwrap() error { return e.error }
