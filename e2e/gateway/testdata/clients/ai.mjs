// The client library ai with both of its providers: prints what it got from each call as a line of JSON, {"name": …, "got": …}.
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'

globalThis.AI_SDK_LOG_WARNINGS = false
const baseURL = process.env.BASE_URL
const print = (name, got) => console.log(JSON.stringify({ name, got }))

const providers = {
  chat: createOpenAICompatible({ name: 'reagent', baseURL, apiKey: 'any', includeUsage: true, supportsStructuredOutputs: true })('x'),
  responses: createOpenAI({ baseURL, apiKey: 'any' }).responses('x'),
}

for (const [name, model] of Object.entries(providers)) {
  const cities = []
  const weather = tool({
    description: 'Tells the weather.', inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } } }),
    execute: async ({ city }) => (cities.push(city), 'sun in ' + city),
  })
  const common = { model, maxRetries: 0, stopWhen: stepCountIs(3) }

  const whole = await generateText({ ...common, prompt: 'hello' })
  print(name, { text: whole.text, finish: whole.finishReason })

  const messages = [{ role: 'user', content: 'hello' }, ...whole.response.messages, { role: 'user', content: 'again' }]
  print(name + ' again', (await generateText({ ...common, messages })).text)

  const asked = await generateText({ ...common, prompt: 'weather whole', tools: { weather } })
  print(name + ' tool', { text: asked.text, cities: cities.splice(0), steps: asked.steps.length })
  const thanks = [{ role: 'user', content: 'weather whole' }, ...asked.steps.flatMap((step) => step.response.messages), { role: 'user', content: 'thanks' }]
  print(name + ' after tool', (await generateText({ ...common, messages: thanks, tools: { weather } })).text)

  // A stream whose answer comes after the call of a client tool.
  const streamed = streamText({ ...common, prompt: 'weather streamed', tools: { weather } })
  print(name + ' tool stream', { text: await streamed.text, cities: cities.splice(0), steps: (await streamed.steps).length })

  // What the agent does by itself is shown, and no client runs it.
  const shown = { name, text: '', reasoning: '', calls: [], results: [], errors: [] }
  for await (const part of streamText({ ...common, prompt: 'look', onError: () => {} }).fullStream) {
    if (part.type === 'text-delta') shown.text += part.text
    if (part.type === 'reasoning-delta') shown.reasoning += part.text
    if (part.type === 'tool-call') shown.calls.push({ tool: part.toolName, provider: part.providerExecuted, input: part.input })
    if (part.type === 'tool-result') shown.results.push({ tool: part.toolName, provider: part.providerExecuted, output: part.output })
    if (part.type === 'error') shown.errors.push(String(part.error))
  }
  print(name + ' own tool', shown)

  const schema = jsonSchema({ type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'], additionalProperties: false })
  print(name + ' object', (await generateObject({ model, schema, prompt: 'json', maxRetries: 0 })).object)

  try {
    await generateText({ ...common, model: { chat: createOpenAICompatible({ name: 'reagent', baseURL })('nobody'), responses: createOpenAI({ baseURL, apiKey: 'any' }).responses('nobody') }[name], prompt: 'hello' })
    print(name + ' no model', 'no error')
  } catch (e) {
    print(name + ' no model', { name: e.name, status: e.statusCode, message: e.message })
  }
}
