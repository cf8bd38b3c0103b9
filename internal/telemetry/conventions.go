package telemetry

// Conventions is the version of OpenTelemetry's semantic conventions for generative AI to which the names in this file belong:
// https://github.com/open-telemetry/semantic-conventions-genai. They are in development, so a later version may rename them.
const Conventions = "0.1.0"

// schemaURL is that of the semantic conventions on which [Conventions] depends.
const schemaURL = "https://opentelemetry.io/schemas/1.45.0"

// The values of operationName.
const (
	operationChat        = "chat"
	operationExecuteTool = "execute_tool"
	operationInvokeAgent = "invoke_agent"
)

// The names of attributes in the conventions.
//
//nolint:gosec // the tokens of models are no credentials
const (
	operationName      = "gen_ai.operation.name"
	providerName       = "gen_ai.provider.name"
	agentName          = "gen_ai.agent.name"
	conversationID     = "gen_ai.conversation.id"
	requestModel       = "gen_ai.request.model"
	requestStream      = "gen_ai.request.stream"
	requestMaxTokens   = "gen_ai.request.max_tokens"
	requestTemperature = "gen_ai.request.temperature"
	requestTopP        = "gen_ai.request.top_p"
	outputType         = "gen_ai.output.type"
	responseModel      = "gen_ai.response.model"
	finishReasons      = "gen_ai.response.finish_reasons"
	timeToFirstChunk   = "gen_ai.response.time_to_first_chunk"
	inputTokens        = "gen_ai.usage.input_tokens"
	outputTokens       = "gen_ai.usage.output_tokens"
	cacheReadTokens    = "gen_ai.usage.cache_read.input_tokens"
	cacheWriteTokens   = "gen_ai.usage.cache_creation.input_tokens"
	reasoningTokens    = "gen_ai.usage.reasoning.output_tokens"
	toolName           = "gen_ai.tool.name"
	toolCallID         = "gen_ai.tool.call.id"
	errorType          = "error.type"
	serverAddress      = "server.address"
	serverPort         = "server.port"

	// In metrics only.
	tokenType  = "gen_ai.token.type"
	tokenCache = "gen_ai.token.cache"
	tokenPhase = "gen_ai.token.phase"

	// With the content only.
	systemInstructions = "gen_ai.system_instructions"
	inputMessages      = "gen_ai.input.messages"
	outputMessages     = "gen_ai.output.messages"
	toolArguments      = "gen_ai.tool.call.arguments"
	toolResult         = "gen_ai.tool.call.result"
)

// The names of attributes for which the conventions have none.
const (
	runID            = "reagent.run_id"
	turnNumber       = "reagent.turn"
	modelCalls       = "reagent.model_calls"
	callKey          = "reagent.key"
	attempt          = "reagent.attempt"
	recalled         = "reagent.recalled"
	costUSD          = "reagent.cost_usd"
	guardrailSubject = "reagent.guardrail.subject"
	eventName        = "reagent.event"
	waitFor          = "reagent.waits_for"
	limitName        = "reagent.limit"
	agentStatus      = "reagent.status"
)
