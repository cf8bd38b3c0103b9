package llm

import "context"

type metadataKey struct{}

// WithMetadata returns a copy of `ctx` with the metadata of a request, which [Metadata] returns.
func WithMetadata(ctx context.Context, metadata map[string]string) context.Context {
	return context.WithValue(ctx, metadataKey{}, metadata)
}

// Metadata returns what the program that started the agent, or that sent the message, knows about it, such as the customer; nil if there is
// none. It is for implementations of [Client], which may choose an account by it. The clients of this project do not send it. It must not
// be changed.
func Metadata(ctx context.Context) map[string]string {
	metadata, _ := ctx.Value(metadataKey{}).(map[string]string)
	return metadata
}
