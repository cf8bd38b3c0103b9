package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// readUpdate reads the requests of people and programs.
func (r *reader) readUpdate(e *historypb.HistoryEvent) error {
	if a := e.GetWorkflowExecutionUpdateAdmittedEventAttributes(); a != nil {
		// After a reset, Temporal delivers again what the earlier run has received later.
		r.admitted[a.GetRequest().GetMeta().GetUpdateId()] = true
		owner, copied := r.owner, r.copied
		r.owner, r.copied = r.base(), true
		_, err := r.request(e, a.GetRequest())
		r.owner, r.copied = owner, copied
		return err
	}
	if a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes(); a.GetAcceptedRequest() != nil && !r.admitted[a.GetAcceptedRequest().GetMeta().GetUpdateId()] {
		line, err := r.request(e, a.GetAcceptedRequest())
		r.accepted[e.GetEventId()] = line
		return err
	}
	if a := e.GetWorkflowExecutionUpdateCompletedEventAttributes(); a.GetOutcome().GetFailure() != nil {
		line := r.accepted[a.GetAcceptedEventId()]
		if line.Act == "" || line.Act == askedAside {
			return nil
		}
		class, text := r.failed(a.GetOutcome().GetFailure())
		r.tell(e, object.AuditLine{Act: refused, Key: line.Key, MessageID: line.MessageID, Class: class, Reason: text}, agent.Actor{}, "")
		delete(r.allowances, line.Key)
	}
	return nil
}

// base returns the run from which the newest reset has copied events.
func (r *reader) base() string {
	base := r.RunID
	for _, e := range r.Events {
		if id := e.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(); id != "" {
			base = id
		}
	}
	return base
}

// request tells an update. The line is zero if the update is not for the trail, such as a request for partial text.
func (r *reader) request(e *historypb.HistoryEvent, u *updatepb.Request) (object.AuditLine, error) {
	var line object.AuditLine
	var actor agent.Actor
	read := func(out any) error { return r.decode(u.GetInput().GetArgs(), out) }
	switch u.GetInput().GetName() {
	case protocol.MessageUpdate:
		var m agent.QueuedMessage
		if err := read(&m); err != nil {
			return line, err
		}
		r.meet(m.Metadata)
		line, actor = message(m), m.Actor
	case protocol.DecideUpdate:
		var d agent.Decision
		if err := read(&d); err != nil {
			return line, err
		}
		d.Actor = d.Stated()
		line, actor = decision(d), d.Actor
		line.Tool = r.proposals[d.Key].tool
		r.decide(d)
	case protocol.RevokeUpdate:
		line.Act = revoked
		if err := read(&line.Key); err != nil {
			return line, err
		}
		r.revoke(line.Key)
	case protocol.InterruptUpdate:
		var i agent.Interrupt
		if err := read(&i); err != nil {
			return line, err
		}
		line.Act, actor = interrupted, i.Actor
	case protocol.AsideUpdate:
		var a agent.Aside
		if err := read(&a); err != nil {
			return line, err
		}
		line.Act, line.Content = askedAside, a.Question
	case protocol.CloseUpdate:
		line.Act = closed
	case protocol.ReloadUpdate:
		line.Act = reloaded
	case protocol.UpgradeUpdate:
		line.Act = upgraded
	default:
		return line, nil
	}
	line = r.tell(e, line, actor, u.GetMeta().GetIdentity())
	r.entries[len(r.entries)-1].update = u.GetMeta().GetUpdateId()
	return line, nil
}

// message returns the line of a message. An image is told by its address, or by a hash of its bytes.
func message(m agent.QueuedMessage) object.AuditLine {
	var text strings.Builder
	text.WriteString(m.Text)
	for _, image := range m.Images {
		if strings.HasPrefix(image, "data:") {
			sum := sha256.Sum256([]byte(image))
			image = "sha256 " + hex.EncodeToString(sum[:])
		}
		text.WriteString("\n[image " + image + "]")
	}
	return object.AuditLine{Act: asked, MessageID: m.ID, Content: text.String()}
}

func decision(d agent.Decision) object.AuditLine {
	line := object.AuditLine{Act: denied, Key: d.Key, MessageID: d.Message, Reason: d.Reason}
	switch {
	case d.Result != nil:
		line.Act, line.Content = given, d.Result.Content
		line.Class = string(agent.KindOf(d.Result.IsError))
	case d.Approve:
		line.Act, line.NewArguments, line.Permits = approved, d.Arguments, d.Remember
	}
	return line
}
