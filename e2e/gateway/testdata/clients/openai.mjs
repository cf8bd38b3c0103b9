// The client library openai: prints what it got from each call as a line of JSON, {"name": …, "got": …}.
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: 'any', maxRetries: 0 })
const model = 'x'
const print = (name, got) => console.log(JSON.stringify({ name, got }))

async function refusal(call) {
  try {
    await call()
    return 'no error'
  } catch (e) {
    return { name: e.constructor.name, api: e instanceof OpenAI.APIError, status: e.status, code: e.code, param: e.param, type: e.type }
  }
}

const types = (response) => response.output.map((item) => item.type)

const models = []
for await (const m of client.models.list()) models.push(m.id)
print('models', models)
print('model', (await client.models.retrieve('x')).id)

// Chat completions.
const messages = [{ role: 'user', content: 'hello' }]
const whole = await client.chat.completions.create({ model, messages })
print('chat', { object: whole.object, message: whole.choices[0].message, finish: whole.choices[0].finish_reason, usage: typeof whole.usage.total_tokens })
const next = await client.chat.completions.create({ model, messages: [...messages, whole.choices[0].message, { role: 'user', content: 'again' }] })
print('chat again', next.choices[0].message.content)

let content = '', finish = '', usage = null
const chunks = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'long' }], stream: true, stream_options: { include_usage: true } })
for await (const chunk of chunks) {
  content += chunk.choices[0]?.delta.content ?? ''
  finish = chunk.choices[0]?.finish_reason ?? finish
  usage = chunk.usage ?? usage
}
print('chat stream', { content, finish, usage: typeof usage.total_tokens })

const runner = client.chat.completions.stream({ model, messages: [{ role: 'user', content: 'long' }] })
print('chat helper', await runner.finalContent())

const cities = []
const tools = [{
  type: 'function',
  function: {
    name: 'weather', description: 'Tells the weather.', parse: JSON.parse, parameters: { type: 'object', properties: { city: { type: 'string' } } },
    function: ({ city }) => (cities.push(city), 'sun in ' + city),
  },
}]
for (const stream of [false, true]) {
  const run = client.chat.completions.runTools({ model, stream, messages: [{ role: 'user', content: 'weather ' + stream }], tools })
  print('chat tools', { stream, content: await run.finalContent(), cities: cities.splice(0) })
}

// Responses.
const first = await client.responses.create({ model, input: 'hello' })
print('response', { status: first.status, text: first.output_text, usage: typeof first.usage.total_tokens })
const second = await client.responses.create({ model, input: 'again', previous_response_id: first.id })
print('response again', second.output_text)
const inputs = []
for await (const item of client.responses.inputItems.list(first.id)) inputs.push(item.content[0].text)
print('input items', inputs)

for (const input of ['long', 'look', 'pay']) {
  const stream = client.responses.stream({ model, input })
  const seen = {}
  for await (const event of stream) seen[event.type] = (seen[event.type] ?? 0) + 1
  const final = await stream.finalResponse()
  const { data: same } = await client.responses.retrieve(final.id).withResponse()
  const replayed = await client.responses.stream({ response_id: final.id, starting_after: 3 }).finalResponse()
  print('response stream', { input, types: types(final), text: final.output_text, deltas: seen['response.output_text.delta'] ?? 0, same: same.output_text === final.output_text, replayed: types(replayed) })
}

const schema = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'], additionalProperties: false }
const parsed = await client.responses.parse({ model, input: 'json', text: { format: { type: 'json_schema', name: 'sum', strict: true, schema } } })
print('response parsed', JSON.parse(parsed.output_text))

const weather = { type: 'function', name: 'weather', strict: false, parameters: { type: 'object', properties: { city: { type: 'string' } } } }
const asked = await client.responses.create({ model, input: 'weather', tools: [weather] })
const call = asked.output[0]
const told = await client.responses.create({ model, tools: [weather], previous_response_id: asked.id, input: [{ type: 'function_call_output', call_id: call.call_id, output: 'sun' }] })
print('response tool', { call: { type: call.type, name: call.name, arguments: call.arguments }, text: told.output_text })

const wants = await client.responses.create({ model, input: 'pay' })
const request = wants.output[0]
const paid = await client.responses.create({ model, previous_response_id: wants.id, input: [{ type: 'mcp_approval_response', approval_request_id: request.id, approve: true }] })
print('approval', { request: request.type, types: types(paid), asked: paid.output[0].approval_request_id === request.id, text: paid.output_text })

// In the background: the first stream is cut while the agent works, and another one goes on from there.
const numbers = []
const cut = await client.responses.create({ model, input: 'wait', background: true, stream: true })
let id = ''
for await (const event of cut) {
  numbers.push(event.sequence_number)
  id = event.response?.id ?? id
  if (event.type === 'response.in_progress') {
    cut.controller.abort()
    break
  }
}
print('in progress', (await client.responses.retrieve(id)).status)
await fetch(process.env.GATE_URL)
let last
for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: numbers.at(-1) })) {
  numbers.push(event.sequence_number)
  last = event
}
print('reconnected', { contiguous: numbers.every((n, i) => n === i), last: last.type, types: types(last.response) })

let polled = await client.responses.create({ model, input: 'look background', background: true })
const statuses = new Set([polled.status])
while (polled.status === 'queued' || polled.status === 'in_progress') {
  await new Promise((wake) => setTimeout(wake, 50))
  polled = await client.responses.retrieve(polled.id)
  statuses.add(polled.status)
}
print('background', { status: polled.status, background: polled.background, odd: [...statuses].filter((s) => !['queued', 'in_progress', 'completed'].includes(s)) })

const hanging = await client.responses.create({ model, input: 'hang', background: true })
const cancelled = await client.responses.cancel(hanging.id)
print('cancel', { status: cancelled.status, kept: (await client.responses.retrieve(hanging.id)).status })

// A conversation that the client makes.
const conversation = await client.conversations.create()
await client.responses.create({ model, input: 'one', conversation: conversation.id })
const two = await client.responses.create({ model, input: 'two', conversation: conversation.id })
const items = []
for await (const item of client.conversations.items.list(conversation.id, { order: 'asc' })) items.push(item.type + ' ' + item.role)
print('conversation', { text: two.output_text, items })
print('deleted', (await client.conversations.delete(conversation.id)).deleted)

// What is refused.
print('no model', await refusal(() => client.responses.create({ model: 'nobody', input: 'hello' })))
print('no chat model', await refusal(() => client.chat.completions.create({ model: 'nobody', messages })))
print('no response', await refusal(() => client.responses.retrieve('resp_none')))
print('empty', await refusal(() => client.chat.completions.create({ model, messages: [] })))
print('two', await refusal(() => client.chat.completions.create({ model, messages, n: 2 })))
print('web search', await refusal(() => client.responses.create({ model, input: 'hello', tools: [{ type: 'web_search' }] })))
print('no embeddings', await refusal(() => client.embeddings.create({ model, input: 'hello' })))
