package config

import (
	"strings"
	"testing"
)

// TestEachMistakeNamesKeyAndLine: the contract's section 6. Each text holds one mistake and is reported by exactly one
// problem; a text that starts with "\n" is put behind the valid configuration of 12 lines, so its lines begin at 13.
func TestEachMistakeNamesKeyAndLine(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text string
		key  string
		line int
		says string
	}{
		"unknown section":           {"kafka: {}\nkafak: {}", "kafak", 2, "the keys here are kafka, redis"},
		"unknown key":               {"worker:\n  in_flght: 3", "worker.in_flght", 2, "in_flight"},
		"unknown key in flow style": {"worker: {in_flght: 3}", "worker.in_flght", 1, "unknown key"},
		"key of another case":       {"worker:\n  In_Flight: 3", "worker.In_Flight", 2, "unknown key"},
		"file of no secret":         {"kafka:\n  topic_file: x", "kafka.topic_file", 2, "unknown key"},
		"not YAML":                  {"kafka: [1\nredis: 2", "", 1, "',' or ']'"},
		"tab":                       {"kafka:\n\ttopic: x", "", 2, "cannot start any token: indent by spaces"},
		"key given twice":           {"kafka: {}\nredis: {}\nkafka: {}", "kafka", 3, "line 1"},
		"list at the top":           {"- kafka", "", 1, "section"},
		"two documents":             {"kafka: {}\n---\nredis: {}", "", 2, "second document"},
		"section is a text":         {"\n\nkafka: push", "kafka", 3, "section"},
		"number for a text":         {"kafka:\n  topic: 12", "kafka.topic", 2, "quotes"},
		"text for a number":         {"worker:\n  in_flight: many", "worker.in_flight", 2, "whole number"},
		"quoted number":             {"worker:\n  in_flight: \"12\"", "worker.in_flight", 2, "without quotes"},
		"fraction for a whole":      {"worker:\n  in_flight: 1.5", "worker.in_flight", 2, "whole number"},
		"number over int":           {"worker:\n  in_flight: 99999999999999999999", "worker.in_flight", 2, "whole number"},
		"text for a fraction":       {"retry: {factor: double}", "retry.factor", 1, "a number"},
		"text for a boolean":        {"postgres: {statement_cache: \"on\"}", "postgres.statement_cache", 1, "true or false"},
		"duration without unit":     {"worker:\n  grace: 25", "worker.grace", 2, "unit"},
		"duration in days":          {"dedup:\n  window: 7d", "dedup.window", 2, "24h"},
		"text for a list":           {"kafka:\n  brokers: a:1", "kafka.brokers", 2, "list"},
		"number in a list":          {"kafka:\n  brokers:\n    - 9092", "kafka.brokers", 3, "quotes"},
		"alias without anchor":      {"kafka:\n  topic: *t", "", 2, "anchor"},
		"tag":                       {"kafka:\n  topic: !own 12", "kafka.topic", 2, "quotes"},
		"merge key":                 {"redis: &r {db: 1}\nkafka:\n  <<: *r", "kafka", 3, "merge"},

		"variable below nothing":   {"channels: {sms: {aliyun: {max_variable: -1}}}", "channels.sms.aliyun.max_variable", 1, "0 (no limit)"},
		"variables below nothing":  {"channels: {sms: {tencent: {max_variable: -1}}}", "channels.sms.tencent.max_variable", 1, "0 (no limit)"},
		"no broker":                {"kafka: {brokers: []}", "kafka.brokers", 1, "at least one"},
		"broker without port":      {"kafka:\n  brokers: [kafka]", "kafka.brokers", 2, "host:port"},
		"topic with a blank":       {"kafka: {topic: \"a b\"}", "kafka.topic", 1, "topic name"},
		"retry topic is the topic": {"kafka:\n  topic: t\n  retry_topic: t", "kafka.retry_topic", 3, "kafka.topic"},
		"letters to the topic":     {"kafka:\n  dead_letter_topic: push-events", "kafka.dead_letter_topic", 2, "kafka.topic"},
		"letters to the retries":   {"kafka:\n  dead_letter_topic: push-events-retry", "kafka.dead_letter_topic", 2, "kafka.retry_topic"},
		"no group":                 {"kafka: {group: \"\"}", "kafka.group", 1, "empty"},
		"start":                    {"kafka:\n  start: latest", "kafka.start", 2, "first, last"},
		"session too short":        {"kafka: {session_timeout: 1s}\nworker: {grace: 100ms}", "kafka.session_timeout", 1, "6s"},
		"session within the grace": {"kafka: {session_timeout: 20s}", "kafka.session_timeout", 1, "worker.grace"},
		"mechanism":                {"kafka: {sasl: {mechanism: gssapi, username: u, password: p}}", "kafka.sasl.mechanism", 1, "scram-sha-256"},
		"user without mechanism":   {"kafka:\n  sasl:\n    username: u", "kafka.sasl.mechanism", 2, "user"},
		"mechanism without user":   {"kafka:\n  sasl: {mechanism: plain, password: p}", "kafka.sasl.username", 2, "missing"},
		"mechanism without secret": {"kafka:\n  sasl: {mechanism: plain, username: u}", "kafka.sasl.password", 2, "password_file"},
		"tls off but configured":   {"kafka:\n  tls:\n    server_name: k", "kafka.tls", 2, "kafka.tls.enabled: true"},
		"tls file missing":         {"redis:\n  tls: {enabled: true, ca_file: /nowhere/ca.pem}", "redis.tls", 2, "ca_file"},
		"tls half a pair":          {"redis:\n  tls: {enabled: true, cert_file: c.pem}", "redis.tls", 2, "key_file"},

		"redis mode":               {"redis:\n  mode: ring", "redis.mode", 2, "sentinel"},
		"two addresses in single":  {"redis:\n  addrs: [a:1, b:1]", "redis.addrs", 2, "redis.mode"},
		"sentinel without master":  {"redis:\n  mode: sentinel", "redis.master", 1, "missing"},
		"master without sentinel":  {"redis:\n  master: m", "redis.master", 2, "sentinel"},
		"sentinels in single":      {"redis:\n  sentinel_password: p", "redis.sentinel_password", 2, "sentinel"},
		"db in a cluster":          {"redis: {mode: cluster, addrs: [a:1, b:1], db: 2}", "redis.db", 1, "cluster"},
		"postgres of another kind": {"postgres:\n  url: mysql://u:hunter2@h/db", "postgres.url", 2, "postgres://"},
		"one connection":           {"postgres: {max_conns: 1}", "postgres.max_conns", 1, "2 to 1000"},

		"nothing in flight":         {"worker: {in_flight: 0, waiting: 5}", "worker.in_flight", 1, "at least 1"},
		"waiting below in flight":   {"worker:\n  waiting: 3", "worker.waiting", 2, "1024"},
		"no room for one event":     {"worker:\n  waiting_bytes: 1000", "worker.waiting_bytes", 2, "1048576"},
		"lease below two timeouts":  {"dedup:\n  lease: 9s", "dedup.lease", 2, "twice the longest channel timeout (5s)"},
		"timeout over half a lease": {"channels:\n  sms:\n    timeout: 16s", "dedup.lease", 0, "16s"},
		"window below lease":        {"dedup:\n  window: 10s", "dedup.window", 2, "dedup.lease"},
		"zone":                      {"dedup:\n  zone: Asia/Nowhere", "dedup.zone", 2, "IANA"},
		"redis down":                {"dedup:\n  on_redis_down: ignore", "dedup.on_redis_down", 2, "pause"},
		"http address":              {"http:\n  addr: 8080x", "http.addr", 2, "host:port"},
		"short operator token":      {"http:\n  operator_token: hunter2", "http.operator_token", 2, "16"},
		"short viewer token":        {"http:\n  viewer_token: hunter2", "http.viewer_token", 2, "16"},
		"one token for two roles":   {"http:\n  operator_token: hunter2hunter2hunter2\n  viewer_token: hunter2hunter2hunter2", "http.viewer_token", 3, "their own"},

		"no attempts":       {"retry:\n  max_attempts: 0", "retry.max_attempts", 2, "at least 1"},
		"factor":            {"retry:\n  factor: 0.5", "retry.factor", 2, "shrink"},
		"max below first":   {"retry:\n  first: 2h", "retry.max", 1, "retry.first"},
		"jitter":            {"retry:\n  jitter: 2", "retry.jitter", 2, "0 to 1"},
		"inline":            {"retry:\n  inline: -1", "retry.inline", 2, "0 to 10"},
		"negative duration": {"redis:\n  timeout: -1s", "redis.timeout", 2, "longer than 0"},
		"phone region":      {"phone:\n  region: China", "phone.region", 2, "ISO 3166"},
		"short hash key":    {"privacy:\n  hash_key: hunter2", "privacy.hash_key", 2, "16"},
		"log level":         {"log:\n  level: loud", "log.level", 2, "trace, debug"},

		"provider name":            {"channels:\n  sms:\n    providers: [twilio]", "channels.sms.providers", 3, "aliyun, tencent"},
		"provider without account": {"channels:\n  sms:\n    providers: [aliyun]\n    aliyun: {access_key_id: i, sign_name: s}", "channels.sms.aliyun.access_key_secret", 4, "missing"},
		"when unknown":             {"channels:\n  sms:\n    when_unknown: drop", "channels.sms.when_unknown", 3, "hold, resend"},
		"held shorter than asked":  {"channels:\n  sms:\n    hold_max: 10m", "channels.sms.hold_max", 3, "ask_for"},
		"endpoint":                 {"channels:\n  wechat:\n    endpoint: api.example.com", "channels.wechat.endpoint", 3, "http://"},
		"rate":                     {"channels:\n  wechat:\n    rate: -1", "channels.wechat.rate", 3, "no limit"},
		"wechat window":            {"channels:\n  wechat:\n    resend_within: 10m", "channels.wechat.resend_within", 3, "10m"},
		"wechat half an account":   {"channels:\n  wechat:\n    app_id: wx1", "channels.wechat.app_secret", 2, "missing"},

		"push without actions":  {"\n  bare: {}", "pushes.bare", 13, ""},
		"push name":             {"\n  \"a b\": {actions: {notify: {title: t}}}", "pushes.a b", 13, "biz_type"},
		"push version":          {"\n  p: {version: v0, actions: {notify: {title: t}}}", "pushes.p.version", 13, "v1, v2"},
		"push window":           {"\n  p: {dedup: {window: 1s}, actions: {notify: {title: t}}}", "pushes.p.dedup.window", 13, "dedup.lease"},
		"push dedup by":         {"\n  p:\n    dedup:\n      by: event_id\n    actions: {notify: {title: t}}", "pushes.p.dedup.by", 15, "no such field"},
		"push dedup by numbers": {"\n  p:\n    dedup: {by: [1]}\n    actions: {notify: {title: t}}", "pushes.p.dedup.by", 14, "quotes"},
		"push channel":          {"\n  p:\n    actions:\n      notify: {title: t}\n      email: {}", "pushes.p.actions.email", 16, "notify, sms, wechat"},
		"push provider":         {"\n  p:\n    actions:\n      sms: {twilio: {}, aliyun: {template: t}}", "pushes.p.actions.sms.twilio", 15, "aliyun, tencent"},
		"notify without title":  {"\n  p:\n    actions:\n      notify: {body: b}", "pushes.p.actions.notify.title", 15, "missing"},
		"sms without template":  {"\n  p:\n    actions:\n      sms: {aliyun: {}}", "pushes.p.actions.sms.aliyun.template", 15, "missing"},
		"sms of a spare alone":  {"\n  p:\n    actions:\n      sms: {tencent: {template: \"1\"}}", "pushes.p.actions.sms", 15, "aliyun, the first"},
		"sms without provider":  {"channels: {}\npushes: {p: {actions: {sms: {aliyun: {template: t}}}}}", "pushes.p.actions.sms", 2, "no provider"},
		"sms param is a number": {"\n  p:\n    actions:\n      sms: {aliyun: {template: t, params: {n: 1}}}", "pushes.p.actions.sms.aliyun.params.n", 15, "quotes"},
		"sms order of nothing":  {"\n  p:\n    actions:\n      sms:\n        params: {a: x}\n        aliyun: {template: t}\n        tencent: {template: \"1\", order: [a, b]}", "pushes.p.actions.sms.tencent.order", 18, "b, which is not among sms.params"},
		"sms order and params":  {"\n  p:\n    actions:\n      sms:\n        params: {a: x}\n        aliyun: {template: t}\n        tencent: {template: \"1\", order: [a], params: [x]}", "pushes.p.actions.sms.tencent.order", 18, "keep one"},
		"sms without order":     {"\n  p:\n    actions:\n      sms:\n        params: {a: x}\n        aliyun: {template: t}\n        tencent: {template: \"1\"}", "pushes.p.actions.sms.tencent.order", 18, "missing"},
		"sample is a number":    {"\n  p:\n    sample: {a: 1}\n    actions: {notify: {title: t}}", "pushes.p.sample.a", 14, "quotes"},
		"wechat no template":    {"\n  p:\n    actions:\n      wechat: {url: u}", "pushes.p.actions.wechat.template", 15, "missing"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := c.text
			if strings.HasPrefix(text, "\n  ") {
				text = valid + text[1:]
			}
			got := problems(t, text+"\n")
			if len(got) != 1 {
				t.Fatalf("got %d problems: %v", len(got), got)
			}
			p := got[0]
			wantKey := c.key
			if wantKey == "pushes.bare" {
				wantKey = "pushes.bare.actions"
			}
			if p.Key != wantKey || p.Line != c.line || !strings.Contains(p.Text, c.says) {
				t.Errorf("got %s:%d %s: %s", p.Source, p.Line, p.Key, p.Text)
			}
			if strings.Contains(p.String(), "hunter2") {
				t.Errorf("shows a secret: %s", p)
			}
		})
	}
}

func TestAllMistakesComeAtOnceInOrderEachOnALine(t *testing.T) {
	t.Parallel()
	_, _, err := load(t, "retry: {factor: 0}\nkafka:\n  start: x\n  tpoic: y\nworker: {grace: 5}\n", "PUSHER_LOG_LEVEL=loud")
	if err == nil {
		t.Fatal("nothing found")
	}
	got := strings.Split(err.Error(), "\n")
	want := []string{
		"PUSHER_LOG_LEVEL: log.level: ", ":1: retry.factor: ", ":3: kafka.start: ", ":4: kafka.tpoic: ", ":5: worker.grace: ",
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i, line := range got {
		if !strings.HasPrefix(line, "config: ") || !strings.Contains(line, want[i]) {
			t.Errorf("line %d is %q, want %q in it", i, line, want[i])
		}
	}
}
