package reagent

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// noSysInfo is a value for worker.Options.SysInfoProvider.
type noSysInfo struct{ worker.SysInfoProvider }

// filled returns worker options in which no field is zero.
func filled(t *testing.T) worker.Options {
	tuner, err := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{})
	require.NoError(t, err)
	pollers := worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: 9})
	o := worker.Options{
		BackgroundActivityContext:  t.Context(),
		Tuner:                      tuner,
		SysInfoProvider:            noSysInfo{},
		WorkflowTaskPollerBehavior: pollers, ActivityTaskPollerBehavior: pollers, NexusTaskPollerBehavior: pollers,
		Interceptors:      []interceptor.WorkerInterceptor{&interceptor.WorkerInterceptorBase{}},
		Plugins:           []worker.Plugin{inherited{}},
		DeploymentOptions: worker.DeploymentOptions{UseVersioning: true, DefaultVersioningBehavior: workflow.VersioningBehaviorPinned},
	}
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int, reflect.Int64:
			field.SetInt(7)
		case reflect.Float64:
			field.SetFloat(7)
		case reflect.String:
			field.SetString("mine")
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Func:
			field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		}
		require.False(t, field.IsZero(), "give worker.Options.%s a value in this test", v.Type().Field(i).Name)
	}
	return o
}

// requireInherited requires that each field of the options of an activity worker is that of the outer worker. The exceptions are the
// fields in own, which have the given values.
func requireInherited(t *testing.T, outer, inner worker.Options, own map[string]any) {
	was, is := reflect.ValueOf(outer), reflect.ValueOf(inner)
	for i := range is.NumField() {
		name := is.Type().Field(i).Name
		if want, differs := own[name]; differs {
			require.EqualValues(t, want, is.Field(i).Interface(), name)
			continue
		}
		if is.Field(i).Kind() == reflect.Func {
			require.Equal(t, was.Field(i).IsNil(), is.Field(i).IsNil(), name) // functions cannot be compared
			continue
		}
		require.Equal(t, was.Field(i).Interface(), is.Field(i).Interface(), name)
	}
}

// An activity worker has every option of the worker of the plugin. A new option of the SDK is inherited, too, or stated here.
func TestActivityWorkersInheritTheOptionsOfTheWorker(t *testing.T) {
	own := map[string]any{
		"Plugins": []worker.Plugin(nil), "DisableWorkflowWorker": true, "EnableSessionWorker": false, "TaskQueueActivitiesPerSecond": 0,
		"DeploymentOptions": worker.DeploymentOptions{}, "UseBuildIDForVersioning": false,
	}
	for _, outer := range []worker.Options{filled(t), {}} {
		requireInherited(t, outer, activityWorkerOptions(outer), own)
	}
}

// What the client's plugins have set on the worker of the plugin is not set again on an activity worker.
func TestOptionsOfAnActivityWorkerAreSetOnce(t *testing.T) {
	outer := filled(t)
	changed := worker.Options{Identity: "a plugin's", Plugins: []worker.Plugin{inherited{}}}
	changed.Interceptors = append(changed.Interceptors, outer.Interceptors[0], outer.Interceptors[0])
	replace := inherited{options: outer}
	require.NoError(t, replace.ConfigureWorker(context.Background(), worker.PluginConfigureWorkerOptions{WorkerOptions: &changed}))
	requireInherited(t, outer, changed, nil)
}
