package trail

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/audit"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
)

// check is the name of the check in the findings.
const check = "audit"

// Verify checks a copy of a trail, whose name is `name`: against itself, and against the histories that Temporal still has. If there is no
// client, because Temporal cannot be reached, it does the first only.
func Verify(ctx context.Context, c *client.Client, name string, in io.Reader) ([]object.Finding, error) {
	copied, err := audit.Read(in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	problems := copied.Check()
	findings := wrong(name, problems)
	if len(problems) == 0 {
		findings = append(findings, object.Finding{
			Check: check, Level: object.Well, Commands: []string{},
			Finding: fmt.Sprintf("%s: its %s fit each other; the hash of the last one is %s", name, plural.Of(copied.Len(), "line"), copied.Hash()),
		})
	}
	if c == nil {
		return append(findings, unchecked(name, "was not compared with the histories, because Temporal cannot be reached")), nil
	}
	var now []object.AuditLine
	_, err = Make(ctx, c, copied.Scope(), func(l object.AuditLine) error {
		now = append(now, audit.WithoutTexts(l))
		return nil
	})
	if err != nil && !errors.Is(err, client.ErrNotFound) {
		return nil, err
	}
	differences, gone := copied.Compare(now)
	if len(differences) == 0 {
		findings = append(findings, object.Finding{
			Check: check, Level: object.Well, Commands: []string{}, Finding: name + ": its lines say what the histories in Temporal say",
		})
	}
	findings = append(findings, wrong(name, differences)...)
	if len(gone) > 0 {
		text := fmt.Sprintf("was not compared with the histories of %s, because Temporal has deleted them", plural.Of(len(gone), "run"))
		findings = append(findings, unchecked(name, text))
	}
	return findings, nil
}

func wrong(name string, problems []audit.Problem) []object.Finding {
	var findings []object.Finding
	for _, p := range problems {
		findings = append(findings, object.Finding{
			Check: check, Level: object.Wrong, Finding: fmt.Sprintf("%s: line %d %s", name, p.Line, p.Text), Commands: []string{},
			Cure: "do not rely on this copy; take another one",
		})
	}
	return findings
}

func unchecked(name, text string) object.Finding {
	return object.Finding{Check: check, Level: object.Unchecked, Finding: name + ": it " + text, Commands: []string{}}
}
