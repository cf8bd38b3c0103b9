// Package kill has a signal that Windows does not have, in its test only.
package kill
