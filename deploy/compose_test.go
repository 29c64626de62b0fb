// Package deploy has nothing to build: its tests hold docker-compose.yml, the configuration that it mounts and the code
// together.
package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"pusher/internal/config"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// project parses docker-compose.yml as docker compose does.
func project(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../docker-compose.yml"}, cli.WithoutEnvironmentResolution)
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeHasEveryService(t *testing.T) {
	t.Parallel()
	want := []string{"compensator", "kafka", "migrate", "postgres", "pusher", "redis", "sandbox", "topics"}
	if got := slices.Sorted(maps.Keys(project(t).Services)); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
}

func TestComposeStartsEachServiceAfterWhatItNeeds(t *testing.T) {
	t.Parallel()
	const (
		healthy   = types.ServiceConditionHealthy
		completed = types.ServiceConditionCompletedSuccessfully
		started   = types.ServiceConditionStarted
	)
	ready := map[string]string{"migrate": completed, "topics": completed, "redis": healthy, "sandbox": started}
	want := map[string]map[string]string{
		"migrate": {"postgres": healthy}, "topics": {"kafka": healthy}, "pusher": ready, "compensator": ready,
		"kafka": {}, "redis": {}, "postgres": {}, "sandbox": {},
	}
	for name, service := range project(t).Services {
		got := map[string]string{}
		for needed, dependency := range service.DependsOn {
			got[needed] = dependency.Condition
		}
		if !maps.Equal(got, want[name]) {
			t.Errorf("%s depends on %v, want %v", name, got, want[name])
		}
	}
}

func TestComposeChecksTheHealthOfTheRealServices(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, probe := range map[string]string{"kafka": "kafka-broker-api-versions", "redis": "redis-cli", "postgres": "pg_isready"} {
		check := p.Services[name].HealthCheck
		if check == nil || !strings.Contains(strings.Join(check.Test, " "), probe) || check.Interval == nil || check.Retries == nil {
			t.Errorf("%s has the health check %+v; want one by %s, with interval and retries", name, check, probe)
		}
	}
}

func TestComposeOpensPortsOnLoopbackOnlyAndPinsItsImages(t *testing.T) {
	t.Parallel()
	for name, service := range project(t).Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s opens %s on %q, want 127.0.0.1", name, port.Published, port.HostIP)
			}
		}
		if _, tag, _ := strings.Cut(service.Image, ":"); service.Build == nil && (tag == "" || tag == "latest") {
			t.Errorf("%s runs %s, want a version", name, service.Image)
		}
	}
}

func TestComposeKeepsRedisFromForgetting(t *testing.T) {
	t.Parallel()
	command := strings.Join(project(t).Services["redis"].Command, " ")
	for _, setting := range []string{"--maxmemory-policy noeviction", "--appendonly yes"} {
		if !strings.Contains(command, setting) {
			t.Errorf("redis runs %q, want %s", command, setting)
		}
	}
}

func TestComposeRunsTheSameImagesAsTheTests(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, image := range testbed.Images() {
		if got := p.Services[name].Image; got != image {
			t.Errorf("%s runs %s, the tests %s", name, got, image)
		}
	}
}

func TestComposeBuildsFromFilesThatExist(t *testing.T) {
	t.Parallel()
	for name, service := range project(t).Services {
		if service.Build != nil {
			if _, err := os.Stat(filepath.Join(service.Build.Context, service.Build.Dockerfile)); err != nil {
				t.Errorf("%s is built from a file that is not there: %v", name, err)
			}
		}
		for _, volume := range service.Volumes {
			if volume.Type == types.VolumeTypeBind {
				if _, err := os.Stat(volume.Source); err != nil {
					t.Errorf("%s mounts what is not there: %v", name, err)
				}
			}
		}
	}
}

// TestMountedConfigurationIsWiredToTheServices: it loads, and every address in it is a service of docker-compose.yml.
func TestMountedConfigurationIsWiredToTheServices(t *testing.T) {
	t.Parallel()
	unset := func(string) (string, bool) { return "", false }
	c, warnings, err := config.Load("pusher.yaml", unset, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("loading pusher.yaml: %v, warnings %v", err, warnings)
	}
	const sandbox = "http://sandbox:9000"
	got := []string{c.Kafka.Brokers[0], c.Redis.Addrs[0], c.Channels.SMS.Aliyun.Endpoint, c.Channels.SMS.Tencent.Endpoint, c.Channels.WeChat.Endpoint}
	if want := []string{"kafka:29092", "redis:6379", sandbox, sandbox, sandbox}; !slices.Equal(got, want) {
		t.Errorf("addresses %v, want %v", got, want)
	}
	env := project(t).Services["postgres"].Environment
	for _, key := range []string{"POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB"} {
		if value := env[key]; value == nil || !strings.Contains(c.Postgres.URL.Reveal(), *value) {
			t.Errorf("postgres.url does not have %s of the service", key)
		}
	}
	if grace := project(t).Services["pusher"].StopGracePeriod; grace == nil || c.Worker.Grace >= time.Duration(*grace) {
		t.Errorf("pusher is killed after %v, want longer than worker.grace (%v)", grace, c.Worker.Grace)
	}
	secrets := []string{c.Channels.SMS.Aliyun.AccessKeySecret.Reveal(), c.Channels.SMS.Tencent.SecretKey.Reveal(), c.Channels.WeChat.AppSecret.Reveal()}
	if want := slices.Repeat([]string{provider.DefaultSecret}, 3); !slices.Equal(secrets, want) {
		t.Error("the accounts are not the sandbox's own")
	}
}

// TestDockerComposeAgrees asks the real program, where there is one.
func TestDockerComposeAgrees(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "docker", "compose", "version").Run(); err != nil {
		t.Skipf("docker compose is not tried here: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), "docker", "compose", "--file", "../docker-compose.yml", "config", "--quiet").CombinedOutput()
	if err != nil {
		t.Errorf("docker compose config: %v\n%s", err, out)
	}
}

// TestSandboxPostsReceiptsToOpenDoors: what sandbox-receipts.json names is what pusher.yaml opens.
func TestSandboxPostsReceiptsToOpenDoors(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load("pusher.yaml", func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("sandbox-receipts.json")
	if err != nil {
		t.Fatal(err)
	}
	var posts provider.Receipts
	if err := json.Unmarshal(text, &posts); err != nil {
		t.Fatal(err)
	}
	const doors = "http://pusher:8080/receipts/"
	secret := c.Receipts.SecretPath.Reveal()
	want := map[string]string{
		provider.Aliyun: doors + "aliyun/" + secret, provider.Tencent: doors + "tencent/" + secret, provider.WeChat: doors + "wechat",
	}
	if !maps.Equal(posts.URLs, want) || posts.Token != c.Receipts.WeChat.Token.Reveal() || posts.AESKey != c.Receipts.WeChat.EncodingAESKey.Reveal() {
		t.Errorf("posts %+v, want to %v", posts, want)
	}
	if command := project(t).Services["sandbox"].Command; !slices.Contains(command, "--receipts") {
		t.Errorf("the sandbox runs %v", command)
	}
}
