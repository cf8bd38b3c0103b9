package dial

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

func TestClientOptionsPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte(`
[profile.default]
address = "file:7233"
namespace = "file-ns"
[profile.cloud]
address = "cloud:7233"
namespace = "cloud-ns"
api_key = "k"
`), 0o600))
	for name, c := range map[string]struct {
		env                map[string]string
		address, namespace string
		wantAddress        string
		wantNamespace      string
		wantTLS            bool
	}{
		"nothing":        {wantAddress: DefaultAddress, wantNamespace: "default"},
		"file":           {env: map[string]string{"TEMPORAL_CONFIG_FILE": file}, wantAddress: "file:7233", wantNamespace: "file-ns"},
		"profile":        {env: map[string]string{"TEMPORAL_CONFIG_FILE": file, "TEMPORAL_PROFILE": "cloud"}, wantAddress: "cloud:7233", wantNamespace: "cloud-ns", wantTLS: true},
		"env over file":  {env: map[string]string{"TEMPORAL_CONFIG_FILE": file, "TEMPORAL_ADDRESS": "env:7233"}, wantAddress: "env:7233", wantNamespace: "file-ns"},
		"flags over env": {env: map[string]string{"TEMPORAL_ADDRESS": "env:7233", "TEMPORAL_NAMESPACE": "env-ns"}, address: "flag:7233", namespace: "flag-ns", wantAddress: "flag:7233", wantNamespace: "flag-ns"},
		"key means TLS":  {env: map[string]string{"TEMPORAL_API_KEY": "k"}, wantAddress: DefaultAddress, wantNamespace: "default", wantTLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			unset(t, "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_API_KEY", "TEMPORAL_PROFILE", "TEMPORAL_TLS")
			t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			opts, err := ClientOptions(c.address, c.namespace)
			require.NoError(t, err)
			require.Equal(t, c.wantAddress, opts.HostPort)
			require.Equal(t, c.wantNamespace, opts.Namespace)
			require.Equal(t, c.wantTLS, opts.ConnectionOptions.TLS != nil)
			require.NotNil(t, opts.Logger)
		})
	}
}

func TestClientOptionsSayWhatIsWrong(t *testing.T) {
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	_, err := ClientOptions("http://127.0.0.1:7233", "")
	require.EqualError(t, err, `the Temporal address "http://127.0.0.1:7233" must be host:port, without http://`)

	t.Setenv("TEMPORAL_PROFILE", "cluod")
	_, err = ClientOptions("", "")
	require.EqualError(t, err, "the configuration of the Temporal client cannot be used: unable to find profile cluod in config data; correct the variables TEMPORAL_… or the file temporal.toml")
}

func TestTemporalCloudIsKnownByItsHost(t *testing.T) {
	for address, cloud := range map[string]bool{
		"127.0.0.1:7233": false, "temporal.example.com:7233": false, "tmprl.cloud.example.com:7233": false,
		"shop.a1b2c.tmprl.cloud:7233": true, "us-east-1.aws.api.temporal.io:7233": true,
	} {
		opts, err := ClientOptions(address, "")
		require.NoError(t, err)
		require.Equal(t, cloud, OnTemporalCloud(opts), address)
	}
	private := client.Options{HostPort: "vpce-1.example.com:7233", ConnectionOptions: client.ConnectionOptions{TLS: &tls.Config{ServerName: "shop.a1b2c.tmprl.cloud"}}}
	require.True(t, OnTemporalCloud(private))
}
