package object

// Server is a development server that runs.
type Server struct {
	Address   string `json:"address"`
	Namespace string `json:"namespace"`
	WebUI     string `json:"web_ui"`
	// DBFilename is absent if the data is in memory.
	DBFilename string `json:"db_filename,omitempty"`
}

func (Server) kind() string { return "server" }

// Setup says which search attributes were registered in a namespace.
type Setup struct {
	Namespace string `json:"namespace"`
	// Registered is empty if the namespace had all of them.
	Registered []string `json:"registered"`
}

func (Setup) kind() string { return "setup" }

// Gateway is a gateway that runs.
type Gateway struct {
	Address string `json:"address"`
	// BaseURL is the base URL for OpenAI clients.
	BaseURL string `json:"base_url"`
	// Agents has the names of the agents, which are models for the clients.
	Agents []string `json:"agents"`
}

func (Gateway) kind() string { return "gateway" }

// APIKey is a new key for the gateway.
type APIKey struct {
	// Key is the secret.
	Key string `json:"api_key"`
	// Entry is the entry with the hash of the key, as YAML.
	Entry string `json:"entry"`
}

func (APIKey) kind() string { return "api_key" }

// CodecServer is a codec server that runs.
type CodecServer struct {
	Address string `json:"address"`
	// KeyID is the ID of the key that encrypts.
	KeyID string `json:"key_id"`
	// KeyIDs has the IDs of all keys.
	KeyIDs []string `json:"key_ids"`
}

func (CodecServer) kind() string { return "codec_server" }
