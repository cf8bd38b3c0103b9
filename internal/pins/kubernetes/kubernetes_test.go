// Package kubernetes_test builds deploy/kubernetes with the library of kustomize, and reads each object strictly into the types of Kubernetes.
package kubernetes_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// scaledObject is the part of KEDA's type that we use. A field that is not in it is an error.
type scaledObject struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta
	Spec     struct {
		ScaleTargetRef                                    struct{ Name string }
		MinReplicaCount, MaxReplicaCount, PollingInterval int32
		Advanced                                          struct {
			HorizontalPodAutoscalerConfig struct {
				Behavior struct {
					ScaleDown struct {
						StabilizationWindowSeconds int32
						Policies                   []struct {
							Type                 string
							Value, PeriodSeconds int32
						}
					}
				}
			}
		}
		Triggers []struct {
			Type     string
			Metadata struct {
				Endpoint, Namespace, TaskQueue, QueueTypes, TargetQueueSize, ActivationTargetQueueSize string
			}
		}
	}
}

// objects are what a kustomization makes, by their names.
type objects struct {
	t           *testing.T
	deployments map[string]*appsv1.Deployment
	services    map[string]*corev1.Service
	budgets     map[string]*policyv1.PodDisruptionBudget
	configs     map[string]*corev1.ConfigMap
	scaled      map[string]*scaledObject
}

// build runs kustomize as `kubectl apply -k` does. Each object must be one of a known kind, with no field that the kind does not have.
func build(t *testing.T, folder string) objects {
	root, err := filepath.Abs("../../../deploy/kubernetes")
	require.NoError(t, err)
	path := filepath.Join(root, folder)
	if components := combined[folder]; components != nil {
		path = t.TempDir()
		root, err = filepath.Rel(path, root)
		require.NoError(t, err)
		text := fmt.Sprintf("resources: [%s/base]\ncomponents:\n", root)
		for _, c := range components {
			text += fmt.Sprintf("  - %s/%s\n", root, c)
		}
		require.NoError(t, os.WriteFile(filepath.Join(path, "kustomization.yaml"), []byte(text), 0o600))
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	o := objects{
		t: t, deployments: map[string]*appsv1.Deployment{}, services: map[string]*corev1.Service{},
		budgets: map[string]*policyv1.PodDisruptionBudget{}, configs: map[string]*corev1.ConfigMap{}, scaled: map[string]*scaledObject{},
	}
	for _, r := range made.Resources() {
		text, err := r.AsYAML()
		require.NoError(t, err)
		require.Empty(t, validation.IsDNS1123Subdomain(r.GetName()), r.GetName())
		if r.GetKind() == "ScaledObject" {
			require.Equal(t, "keda.sh/v1alpha1", r.GetApiVersion())
			var s scaledObject
			require.NoError(t, yaml.UnmarshalStrict(text, &s), "%s", text)
			o.scaled[s.Metadata.Name] = &s
			continue
		}
		object, _, err := decoder.Decode(text, nil, nil)
		require.NoError(t, err, "%s", text)
		switch object := object.(type) {
		case *appsv1.Deployment:
			o.deployments[object.Name] = object
		case *corev1.Service:
			o.services[object.Name] = object
		case *policyv1.PodDisruptionBudget:
			o.budgets[object.Name] = object
		case *corev1.ConfigMap:
			o.configs[object.Name] = object
		default:
			t.Fatalf("an object of the kind %s", r.GetKind())
		}
	}
	return o
}

// environment returns the ConfigMap with the environment of the worker. Its name has a hash at the end.
func (o objects) environment() map[string]string {
	for name, c := range o.configs {
		if strings.HasPrefix(name, "reagent-environment-") {
			return c.Data
		}
	}
	o.t.Fatal("there is no ConfigMap reagent-environment")
	return nil
}

// selects tells whether a selector finds the pods of a deployment.
func (o objects) selects(selector *metav1.LabelSelector, d *appsv1.Deployment) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	require.NoError(o.t, err)
	require.False(o.t, s.Empty(), "it would select everything")
	return s.Matches(labels.Set(d.Spec.Template.Labels))
}

// The base with components, as deploy/README.md describes it.
const (
	encrypted   = "encrypted"
	withGateway = "with a gateway"
	withBoth    = "with a gateway, encrypted"
)

var combined = map[string][]string{encrypted: {"encryption"}, withGateway: {"gateway"}, withBoth: {"gateway", "encryption"}}

var kustomizations = []string{"base", "example", encrypted, withGateway, withBoth}

// No container has root as its user, writes to its image, has a capability, or more memory than it may. None gets a token of Kubernetes.
func TestContainersAreClosed(t *testing.T) {
	for _, folder := range kustomizations {
		for name, d := range build(t, folder).deployments {
			pod := d.Spec.Template.Spec
			require.False(t, *pod.AutomountServiceAccountToken, name)
			require.True(t, *pod.SecurityContext.RunAsNonRoot, name)
			require.Equal(t, int64(65532), *pod.SecurityContext.RunAsUser, "the user in Dockerfile")
			require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
			for _, c := range pod.Containers {
				require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
				require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, name)
				require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
				limit := c.Resources.Limits.Memory()
				require.Positive(t, limit.Value(), name)
				require.Positive(t, c.Resources.Requests.Cpu().MilliValue(), name)
				for _, e := range c.Env {
					if e.Name == "GOMEMLIMIT" {
						bytes := resource.MustParse(strings.TrimSuffix(e.Value, "B"))
						require.Equal(t, -1, bytes.Cmp(*limit), "GOMEMLIMIT is below the limit")
					}
				}
			}
		}
	}
}

// Kubernetes waits longer than the worker drains. The probes ask at the port at which the worker listens, and only readiness depends on Temporal.
func TestWorkerDrainsAndIsProbed(t *testing.T) {
	for _, folder := range kustomizations {
		o := build(t, folder)
		d := o.deployments["reagent-worker"]
		pod := d.Spec.Template.Spec
		c := pod.Containers[0]
		var drain time.Duration
		for _, arg := range c.Args {
			if text, found := strings.CutPrefix(arg, "--drain="); found {
				var err error
				drain, err = time.ParseDuration(text)
				require.NoError(t, err)
			}
		}
		require.Positive(t, drain)
		require.Greater(t, time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second, drain)

		_, port, err := net.SplitHostPort(o.environment()["REAGENT_HEALTH_LISTEN"])
		require.NoError(t, err)
		require.Equal(t, port, resource.NewQuantity(int64(c.Ports[0].ContainerPort), resource.DecimalSI).String())
		for path, probe := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
			require.Equal(t, path, probe.HTTPGet.Path)
			require.Equal(t, c.Ports[0].Name, probe.HTTPGet.Port.String())
		}
		require.Equal(t, "/healthz", c.StartupProbe.HTTPGet.Path)
		require.Zero(t, d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue())
	}
}

// Whatever an object refers to by name is there. Secrets are not: deploy/README.md says how to make them.
func TestReferencesAreRight(t *testing.T) {
	page, err := os.ReadFile("../../../deploy/README.md")
	require.NoError(t, err)
	var secrets []string
	for _, m := range regexp.MustCompile(`create secret generic (\S+)`).FindAllStringSubmatch(string(page), -1) {
		secrets = append(secrets, m[1])
	}
	for _, folder := range kustomizations {
		o := build(t, folder)
		config := func(name string) { require.Contains(t, slices.Collect(maps.Keys(o.configs)), name) }
		for _, d := range o.deployments {
			require.True(t, o.selects(d.Spec.Selector, d))
			mounted := map[string]bool{}
			for _, v := range d.Spec.Template.Spec.Volumes {
				mounted[v.Name] = true
				if v.ConfigMap != nil {
					config(v.ConfigMap.Name)
				}
				if v.Secret != nil {
					require.Contains(t, secrets, v.Secret.SecretName)
				}
			}
			for _, c := range d.Spec.Template.Spec.Containers {
				for _, m := range c.VolumeMounts {
					require.True(t, mounted[m.Name], m.Name)
				}
				for _, from := range c.EnvFrom {
					if from.ConfigMapRef != nil {
						config(from.ConfigMapRef.Name)
					}
					if from.SecretRef != nil {
						require.Contains(t, secrets, from.SecretRef.Name)
					}
				}
			}
		}
		for name, b := range o.budgets {
			require.True(t, o.selects(b.Spec.Selector, o.deployments[name]))
			require.Equal(t, 1, b.Spec.MaxUnavailable.IntValue(), "a number of pods that must stay could keep a node from draining for ever")
		}
		for name, s := range o.services {
			d := o.deployments[name]
			require.True(t, o.selects(&metav1.LabelSelector{MatchLabels: s.Spec.Selector}, d))
			require.Equal(t, d.Spec.Template.Spec.Containers[0].Ports[0].Name, s.Spec.Ports[0].TargetPort.String())
		}
	}
}

// Workers and the codec server read the same file of the same Secret. The codec server asks for credentials, decrypts only, and is probed where
// it listens.
func TestWorkersAndCodecServerHaveTheKeys(t *testing.T) {
	o := build(t, encrypted)
	require.Empty(t, build(t, "base").services, "encryption is optional")
	for _, name := range []string{"reagent-worker", "reagent-codec-server"} {
		pod := o.deployments[name].Spec.Template.Spec
		require.Contains(t, pod.Containers[0].Env, corev1.EnvVar{Name: "REAGENT_ENCRYPTION_KEYS_FILE", Value: "/etc/reagent-encryption/keys.yaml"})
		require.Contains(t, pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "encryption", MountPath: "/etc/reagent-encryption", ReadOnly: true})
		at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "encryption" })
		require.Equal(t, "reagent-encryption", pod.Volumes[at].Secret.SecretName)
	}
	c := o.deployments["reagent-codec-server"].Spec.Template.Spec.Containers[0]
	require.Equal(t, []string{"starter", "codec-server"}, c.Command)
	require.Contains(t, c.Args, fmt.Sprintf("--listen=0.0.0.0:%d", c.Ports[0].ContainerPort))
	require.Contains(t, c.Args, "--auth-file=/etc/reagent-codec/auth")
	require.Contains(t, c.Args, "--decode-only")
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		require.Equal(t, "/healthz", probe.HTTPGet.Path)
		require.Equal(t, c.Ports[0].Name, probe.HTTPGet.Port.String())
	}
}

// A gateway asks for keys, listens where its Service and its probes look, shares its sessions, and has the agents and, with encryption, the keys of
// the workers.
func TestGatewayIsReached(t *testing.T) {
	o := build(t, withBoth)
	d := o.deployments["reagent-gateway"]
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	require.Equal(t, []string{"starter", "serve"}, c.Command)
	require.Contains(t, c.Args, fmt.Sprintf("--listen=0.0.0.0:%d", c.Ports[0].ContainerPort))
	require.Contains(t, c.Args, "--access=/etc/reagent-gateway/access.yaml")
	require.Contains(t, c.Args, "--drain=20s")
	require.Greater(t, *pod.TerminationGracePeriodSeconds, int64(20))
	for path, probe := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		require.Equal(t, path, probe.HTTPGet.Path)
		require.Equal(t, c.Ports[0].Name, probe.HTTPGet.Port.String())
	}
	require.Contains(t, o.services, "reagent-gateway")
	require.Contains(t, o.budgets, "reagent-gateway")
	for _, m := range []corev1.VolumeMount{
		{Name: "agents", MountPath: "/etc/reagent", ReadOnly: true}, {Name: "gateway", MountPath: "/etc/reagent-gateway", ReadOnly: true},
		{Name: "encryption", MountPath: "/etc/reagent-encryption", ReadOnly: true},
	} {
		require.Contains(t, c.VolumeMounts, m)
	}
	at := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "REAGENT_SESSION_SECRET" })
	require.Equal(t, "reagent-gateway", c.Env[at].ValueFrom.SecretKeyRef.Name)
	require.NotContains(t, build(t, withGateway).deployments["reagent-gateway"].Spec.Template.Spec.Containers[0].VolumeMounts, "encryption")
}

// KEDA asks the server and the namespace of the workers for their task queue, and nothing else sets the number of workers.
func TestWorkersFollowTheBacklog(t *testing.T) {
	base, example := build(t, "base"), build(t, "example")
	require.Equal(t, int32(2), *base.deployments["reagent-worker"].Spec.Replicas)
	require.Empty(t, base.scaled, "KEDA is optional")

	scaled := example.scaled["reagent-worker"]
	require.Nil(t, example.deployments[scaled.Spec.ScaleTargetRef.Name].Spec.Replicas)
	require.GreaterOrEqual(t, scaled.Spec.MinReplicaCount, int32(2))
	require.Len(t, scaled.Spec.Triggers, 1)
	trigger := scaled.Spec.Triggers[0]
	require.Equal(t, "temporal", trigger.Type)
	require.Equal(t, example.environment()["TEMPORAL_ADDRESS"], trigger.Metadata.Endpoint)
	require.Equal(t, example.environment()["TEMPORAL_NAMESPACE"], trigger.Metadata.Namespace)
	require.Equal(t, "agents", trigger.Metadata.TaskQueue, "the default of worker")
	require.Equal(t, "workflow,activity", trigger.Metadata.QueueTypes)
}

// The example replaces the agents, the image and the address of the base.
func TestExampleReplacesTheBase(t *testing.T) {
	base, example := build(t, "base"), build(t, "example")
	require.Equal(t, "reagent", base.deployments["reagent-worker"].Spec.Template.Spec.Containers[0].Image)
	for _, d := range example.deployments {
		require.Equal(t, "registry.example.com/reagent:v0.1.0", d.Spec.Template.Spec.Containers[0].Image)
		require.Equal(t, "agents", d.Namespace)
	}
	require.NotEqual(t, base.environment()["TEMPORAL_ADDRESS"], example.environment()["TEMPORAL_ADDRESS"])
	require.Equal(t, base.environment()["REAGENT_HEALTH_LISTEN"], example.environment()["REAGENT_HEALTH_LISTEN"])
	for name := range base.configs {
		if strings.HasPrefix(name, "reagent-agents-") {
			require.NotContains(t, example.configs, name, "another file has another name, so that the workers are replaced")
		}
	}
}
