package llm

// Server says which server a [Client] asks, for telemetry. The zero Server means that it is not known.
type Server struct {
	// Provider is a name of OpenTelemetry's conventions for generative AI, such as "openai" or "aws.bedrock". It names the API and may differ
	// from who runs the model.
	Provider string
	// Address is the name or the address of the host.
	Address string
	// Port is the port; 0 if it is not known.
	Port int
}

// Located is a [Client] that knows its server.
type Located interface {
	Client
	// Server returns the server.
	Server() Server
}

// ServerOf returns the server of a client, or the zero Server if the client is not [Located].
func ServerOf(c Client) Server {
	if located, ok := c.(Located); ok {
		return located.Server()
	}
	return Server{}
}
