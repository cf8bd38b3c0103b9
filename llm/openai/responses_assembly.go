package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// responseEvent is one event of a stream. The types of its fields accept any JSON value.
type responseEvent struct {
	Type         text                            `json:"type"`
	Object       text                            `json:"object"`
	OutputIndex  *count                          `json:"output_index"`
	ItemID       text                            `json:"item_id"`
	SummaryIndex count                           `json:"summary_index"`
	ContentIndex count                           `json:"content_index"`
	Delta        text                            `json:"delta"`
	Arguments    text                            `json:"arguments"`
	Input        text                            `json:"input"`
	Text         text                            `json:"text"`
	Refusal      text                            `json:"refusal"`
	Part         contentParts                    `json:"part"`
	Item         outputItem                      `json:"item"`
	Response     endpoint.Optional[responseBody] `json:"response"`
}

// responseAssembly is a response, as far as it has arrived. It is an [endpoint.Reply].
type responseAssembly struct {
	// tell is called with each delta. text and reasoning are what the deltas have told so far.
	tell            func(llm.Delta)
	text, reasoning strings.Builder
	// renew is called for each part of a streamed reply: see [endpoint.WithTimeout].
	renew func()

	items   []*assembledItem // in the order in which they began
	byIndex map[int]*assembledItem
	byID    map[string]*assembledItem
	calls   int // the number of function calls so far
	model   text
	final   *responseBody // the response in the last event, or the whole response; nil before it has arrived

	// said is the message of the last text delta. thought is the part of the reasoning of the last reasoning delta.
	said    *assembledItem
	thought thoughtPart

	size int // approximate length of the deltas, in bytes
	held int // length of the JSON of the items, in bytes
}

// thoughtPart identifies a part of the reasoning, so that the next part can be separated from it.
type thoughtPart struct {
	item *assembledItem
	part count
}

// assembledItem is one item of the response, as far as it has arrived.
type assembledItem struct {
	index int // the field `output_index`; -1 if the events do not have it
	outputItem
	done      bool // the item is complete
	call      int  // the number of the function call, from 1; 0 if the item is not a function call
	named     bool // tell was called with the name of the function
	text      parted
	refused   parted
	thoughts  parted
	arguments parted
}

// Whole reads a response that is not streamed.
func (a *responseAssembly) Whole(whole endpoint.Response) error {
	a.final = &responseBody{}
	if err := json.Unmarshal(whole.Body, a.final); err != nil {
		return whole.Bad(endpoint.Responses, err)
	}
	if a.final.missing {
		if err := whole.Foreign(endpoint.Responses); err != nil {
			return err
		}
	}
	return a.final.failure(whole)
}

// Spoke reports whether the stream so far contains text, reasoning, a refusal or a function call.
func (a *responseAssembly) Spoke() bool { return a.size > 0 }

// Rest implements [endpoint.Reply]. Before the event that ends the reply, it returns 0.
func (a *responseAssembly) Rest() time.Duration {
	if a.final != nil {
		return endpoint.AfterFinish
	}
	return 0
}

// Ended returns an error if the response is not complete. The event [DONE] may also come in a stream without an event that ends the
// response. If a part of the reply has arrived and all items are complete, the response then counts as complete.
func (a *responseAssembly) Ended(marked bool) error {
	if a.final == nil && marked && a.Spoke() && !slices.ContainsFunc(a.items, func(item *assembledItem) bool { return !item.done }) {
		a.final = &responseBody{Status: "completed"}
	}
	if a.final == nil {
		return endpoint.LostError{Err: errors.New("the stream ended without the event response.completed, so the reply is incomplete")}
	}
	return nil
}

// Take adds an event of the stream to the response. It returns an error if the event is an error, belongs to another API, cannot be
// decoded, or makes the response too large. After the event that ends the response, Take ignores all events.
func (a *responseAssembly) Take(response endpoint.Response, e endpoint.Event) error {
	if a.final != nil {
		return nil
	}
	var event responseEvent
	bad := json.Unmarshal(e.Data, &event)
	event.Type = cmp.Or(event.Type, text(e.Name))
	response.Body, response.Failed = e.Data, e.Name == "error" || event.Type == "error"
	if err := response.Failure(); err != nil {
		return err
	}
	if bad != nil {
		return response.Unread(e, bad, "{[")
	}
	if event.Type == "" && event.Object == "response" { // a whole response in one event
		event.Type = "response.completed"
		_ = json.Unmarshal(e.Data, &event.Response.Value) // an object
	}
	part, err := a.add(response, event)
	switch {
	case err != nil:
		return err
	case part:
		a.renew()
	case !a.Spoke():
		return response.Foreign(endpoint.Responses)
	}
	return nil
}

// add adds an event. The result `part` says whether the event is a part of the reply. The error is [endpoint.ErrTooLarge] if the response
// has become too large, or the error in an event which says that the response failed. `failed` has the status and the headers of the HTTP
// response.
func (a *responseAssembly) add(failed endpoint.Response, e responseEvent) (part bool, err error) {
	body := e.Response.Value
	a.model = cmp.Or(a.model, body.Model)
	switch kind := openai.ResponseStreamEventType(e.Type); kind {
	case openai.ResponseStreamEventOutputItemAdded:
		a.begin(e)
	case openai.ResponseStreamEventOutputItemDone:
		a.end(e)
	case openai.ResponseStreamEventOutputTextDelta:
		a.addText(a.find(e, "message"), e.ContentIndex, string(e.Delta))
	case openai.ResponseStreamEventOutputTextDone:
		a.endText(a.find(e, "message"), e.ContentIndex, string(e.Text))
	case openai.ResponseStreamEventRefusalDelta:
		a.addRefusal(a.find(e, "message"), e.ContentIndex, string(e.Delta))
	case openai.ResponseStreamEventRefusalDone:
		a.endRefusal(a.find(e, "message"), e.ContentIndex, string(e.Refusal))
	case openai.ResponseStreamEventContentPartDone:
		a.endText(a.find(e, "message"), e.ContentIndex, e.Part.join("", textKinds...))
		a.endRefusal(a.find(e, "message"), e.ContentIndex, e.Part.join("", "refusal"))
	case openai.ResponseStreamEventReasoningSummaryTextDelta, openai.ResponseStreamEventReasoningTextDelta:
		a.addThought(a.find(e, "reasoning"), e.SummaryIndex, string(e.Delta))
	case openai.ResponseStreamEventReasoningSummaryTextDone, openai.ResponseStreamEventReasoningTextDone:
		a.endThought(a.find(e, "reasoning"), e.SummaryIndex, string(e.Text))
	case openai.ResponseStreamEventFunctionArgumentsDelta, openai.ResponseStreamEventCustomToolInputDelta:
		a.addArguments(a.find(e, "function_call"), string(e.Delta))
	case openai.ResponseStreamEventFunctionArgumentsDone, openai.ResponseStreamEventCustomToolInputDone:
		a.endArguments(a.find(e, "function_call"), string(cmp.Or(e.Arguments, e.Input)))
	case openai.ResponseStreamEventCompleted, openai.ResponseStreamEventIncomplete, openai.ResponseStreamEventFailed, "response.done":
		return true, a.finish(failed, kind, body)
	default:
		return false, nil
	}
	if a.size > endpoint.MaxReply || a.held > 2*endpoint.MaxReply || len(a.items) > maxCalls {
		return true, endpoint.ErrTooLarge
	}
	return true, nil
}

// finish handles an event that ends the response. It returns the error if the response failed. The type of the event is more important
// than the field `status`.
func (a *responseAssembly) finish(failed endpoint.Response, kind openai.ResponseStreamEventType, body responseBody) error {
	switch kind {
	case openai.ResponseStreamEventCompleted:
		if body.Status == "in_progress" || body.Status == "queued" {
			body.Status = "completed"
		}
	case openai.ResponseStreamEventIncomplete:
		body.Status = "incomplete"
	case openai.ResponseStreamEventFailed:
		body.Status = "failed"
	}
	if err := body.failure(failed); err != nil {
		return err
	}
	a.final = &body
	output := a.response().Output
	a.correct(output)
	for _, is := range output {
		if item := a.byID[cmp.Or(is.id, is.callID)]; item != nil {
			a.correctCall(item, is.arguments)
		}
	}
	return nil
}

// find returns the item that an event belongs to. If there is none, it begins a new item of the given kind. The field `output_index`
// may be missing, and some proxies send another `item_id` in each event. An event without both belongs to the last item of its kind that
// is not complete.
func (a *responseAssembly) find(e responseEvent, kind string) *assembledItem {
	if item := a.known(e); item != nil && item.kind == kind {
		return item
	}
	if e.OutputIndex == nil && e.ItemID == "" {
		for _, item := range slices.Backward(a.items) {
			if item.kind == kind && !item.done {
				return item
			}
		}
	}
	return a.open(e, outputItem{kind: kind, id: string(e.ItemID)})
}

// known returns the item whose ID or index is in the event; nil if there is none.
func (a *responseAssembly) known(e responseEvent) *assembledItem {
	if item := a.byID[cmp.Or(string(e.ItemID), e.Item.id, e.Item.callID)]; item != nil {
		return item
	}
	if e.OutputIndex != nil {
		return a.byIndex[int(*e.OutputIndex)]
	}
	return nil
}

func (a *responseAssembly) open(e responseEvent, begun outputItem) *assembledItem {
	if a.byIndex == nil {
		a.byIndex, a.byID = map[int]*assembledItem{}, map[string]*assembledItem{}
	}
	item := &assembledItem{index: -1}
	if e.OutputIndex != nil {
		item.index = int(*e.OutputIndex)
		a.byIndex[item.index] = item
	}
	a.set(item, begun)
	a.items = append(a.items, item)
	return item
}

// set replaces the data of an item by `is`, the item in an event.
func (a *responseAssembly) set(item *assembledItem, is outputItem) {
	a.held += len(is.raw) - len(item.raw)
	item.outputItem = is
	if id := cmp.Or(is.id, is.callID); id != "" { // llama.cpp names a call without an ID by its call ID
		a.byID[id] = item
	}
	if is.kind != "function_call" {
		return
	}
	if item.call == 0 {
		a.calls++
		item.call = a.calls
		a.size += 64 // even an empty call needs memory
	}
	if is.name != "" && !item.named {
		item.named = true
		a.tell(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: item.call - 1, Name: is.name}})
	}
}

// begin handles the event of a new item. If the item is known, begin updates it. But if the known item is complete, or has another kind
// or ID, the event begins a new item.
func (a *responseAssembly) begin(e responseEvent) {
	if e.Item.kind == "" {
		return
	}
	item := a.known(e)
	same := item != nil && item.kind == e.Item.kind && (item.id == e.Item.id || item.id == "" || e.Item.id == "")
	if same && !item.done {
		a.set(item, e.Item)
		return
	}
	a.open(e, e.Item)
}

// end handles the event of a complete item. If no delta of the text, the reasoning or the arguments has arrived, end passes the whole
// value to tell as one delta.
func (a *responseAssembly) end(e responseEvent) {
	if e.Item.kind == "" {
		return
	}
	item := a.find(responseEvent{OutputIndex: e.OutputIndex, ItemID: text(cmp.Or(e.Item.id, e.Item.callID))}, e.Item.kind)
	if item.done && (item.id != e.Item.id || item.callID != e.Item.callID) {
		item = a.open(e, e.Item)
	}
	first := !item.done
	a.set(item, e.Item)
	item.done = true
	if item.text.empty() {
		a.addText(item, 0, item.said)
	}
	if item.arguments.empty() {
		a.addArguments(item, item.outputItem.arguments)
	}
	if item.thoughts.empty() {
		a.addThought(item, 0, item.thought)
	}
	if item.refused.empty() {
		a.addRefusal(item, 0, item.refusal)
	}
	if first {
		a.correctItem(item)
	}
}

// correctItem tells what a complete item has in place of its deltas. Copilot encrypts the deltas of some models, for example.
func (a *responseAssembly) correctItem(item *assembledItem) {
	is := item.whole()
	if is.said != item.text.streamed("") || is.thought != item.thoughts.streamed(betweenTexts) {
		a.correct(a.output())
	}
	a.correctCall(item, is.arguments)
}

func (a *responseAssembly) correctCall(item *assembledItem, arguments string) {
	if item.call == 0 || arguments == "" || item.arguments.streamed("") == arguments {
		return
	}
	item.arguments = parted{}
	item.arguments.add(0, arguments)
	a.held += len(arguments)
	a.tell(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: item.call - 1, Arguments: arguments}, Whole: true})
}

// correct tells the text and the reasoning of the given items, if the deltas have told others.
func (a *responseAssembly) correct(items []outputItem) {
	var said, thoughts []string
	for _, item := range items {
		said, thoughts = appendText(said, item.said), appendText(thoughts, item.thought)
	}
	a.replace(&a.text, strings.Join(said, betweenTexts), func(now string) llm.Delta { return llm.Delta{Text: now, Whole: true} })
	a.replace(&a.reasoning, strings.Join(thoughts, betweenTexts), func(now string) llm.Delta { return llm.Delta{Reasoning: now, Whole: true} })
}

func (a *responseAssembly) replace(told *strings.Builder, now string, delta func(now string) llm.Delta) {
	if now == "" || told.Len() == 0 || told.String() == now {
		return
	}
	told.Reset()
	told.WriteString(now)
	a.held += len(now) // so that the corrections of a reply are bounded, too
	a.tell(delta(now))
}

func (a *responseAssembly) addText(item *assembledItem, index count, part string) {
	if part == "" {
		return
	}
	item.text.add(index, part)
	a.size += len(part)
	if a.said != nil && a.said != item {
		part = betweenTexts + part
	}
	a.said = item
	a.text.WriteString(part)
	a.tell(llm.Delta{Text: part})
}

// endText handles the event that has the whole text of a part of a message.
func (a *responseAssembly) endText(item *assembledItem, index count, whole string) {
	if item.text.end(index, whole) {
		a.addText(item, index, whole)
	}
	a.held += len(whole)
}

func (a *responseAssembly) addRefusal(item *assembledItem, index count, part string) {
	item.refused.add(index, part)
	a.size += len(part)
}

func (a *responseAssembly) endRefusal(item *assembledItem, index count, whole string) {
	if item.refused.end(index, whole) {
		a.addRefusal(item, index, whole)
	}
	a.held += len(whole)
}

// addThought adds a part of reasoning. `index` is the number of the part of the summary.
func (a *responseAssembly) addThought(item *assembledItem, index count, part string) {
	if part == "" {
		return
	}
	item.thoughts.add(index, part)
	a.size += len(part)
	if now := (thoughtPart{item, index}); now != a.thought {
		if a.thought.item != nil {
			part = betweenTexts + part
		}
		a.thought = now
	}
	a.reasoning.WriteString(part)
	a.tell(llm.Delta{Reasoning: part})
}

func (a *responseAssembly) endThought(item *assembledItem, index count, whole string) {
	if item.thoughts.end(index, whole) {
		a.addThought(item, index, whole)
	}
	a.held += len(whole)
}

func (a *responseAssembly) addArguments(item *assembledItem, part string) {
	if part == "" || item.kind != "function_call" {
		return
	}
	item.arguments.add(0, part)
	a.size += len(part)
	a.tell(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: item.call - 1, Arguments: part}})
}

func (a *responseAssembly) endArguments(item *assembledItem, whole string) {
	if item.arguments.end(0, whole) {
		a.addArguments(item, whole)
	}
	a.held += len(whole)
}

// response returns the assembled response. Its items are those of the last event. Some endpoints omit the items there, or the content of
// some. In this case, the items of the other events are used.
func (a *responseAssembly) response() responseBody {
	whole := *a.final
	whole.Model = cmp.Or(whole.Model, a.model)
	speaks := func(items []outputItem) bool { return slices.ContainsFunc(items, outputItem.speaks) }
	if items := a.output(); speaks(items) && !speaks(whole.Output) {
		whole.Output = items
	}
	for i := range whole.Output {
		a.fill(&whole.Output[i])
	}
	return whole
}

// fill adds to an item of the last event what only the earlier events have.
func (a *responseAssembly) fill(is *outputItem) {
	item := a.byID[cmp.Or(is.id, is.callID)]
	if item == nil || item.kind != is.kind {
		return
	}
	whole := item.whole()
	if !is.speaks() {
		is.said, is.refusal = whole.said, whole.refusal
	}
	is.name = cmp.Or(is.name, whole.name)
	if !begun(is.arguments) {
		is.arguments = cmp.Or(whole.arguments, is.arguments)
	}
}

// begun reports whether the arguments of a call are more than what endpoints send before there are any.
func begun(arguments string) bool {
	return !slices.Contains([]string{"", "{", "{}"}, strings.TrimSpace(arguments))
}

// output returns the items of all events but the last one. If all items have an index, they are in the order of their indexes. If not, they
// are in the order in which they began.
func (a *responseAssembly) output() []outputItem {
	sorted := slices.Clone(a.items)
	if !slices.ContainsFunc(sorted, func(item *assembledItem) bool { return item.index < 0 }) {
		slices.SortStableFunc(sorted, func(a, b *assembledItem) int { return cmp.Compare(a.index, b.index) })
	}
	var items []outputItem
	for _, item := range sorted {
		items = append(items, item.whole())
	}
	return items
}

// whole returns the item with the texts that have arrived. What a complete item has counts more than the deltas.
func (item *assembledItem) whole() outputItem {
	is := item.outputItem
	is.said = cmp.Or(is.said, item.text.join(""))
	is.refusal = cmp.Or(is.refusal, item.refused.join(""))
	is.thought = cmp.Or(is.thought, item.thoughts.join(betweenTexts))
	if !item.done || !begun(is.arguments) {
		is.arguments = cmp.Or(item.arguments.join(""), is.arguments)
	}
	return is
}
