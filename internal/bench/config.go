package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pusher/internal/push"
)

// partitions of the events' topics: two for each of four instances.
const partitions = 8

// bizTypes of the pushes below, by the one channel that each has.
var bizTypes = map[push.Action]string{push.Notify: "bench_inbox", push.SMS: "bench_sms"} //nolint:gochecknoglobals // a constant, if Go had such

// configuration is the product's defaults, but for the sessions that end with a stage.
const configuration = `
kafka: {session_timeout: 10s, start: first}
worker: {grace: 5s}
log: {level: warn}
channels:
  sms:
    providers: [aliyun]
    aliyun: {access_key_id: bench, access_key_secret: bench-secret, sign_name: Bench}
privacy: {hash_key: bench-bench-bench-bench}
pushes:
  bench_inbox:
    actions:
      notify: {title: "Your resume was viewed", body: "{{.company}} viewed your resume for {{.position}}"}
  bench_sms:
    actions:
      sms: {aliyun: {template: SMS_10001, params: {company: "{{.company}}"}}}
`

// events makes the value of the n-th event of a push.
func event(a push.Action, n int) []byte {
	return fmt.Appendf(nil, `{"biz_type":"%s","biz_id":%d,"event_id":"evt-%012d","occurred_at":"2026-01-31T08:00:00+08:00",`+
		`"recipient":{"user_id":"u%d","phone":"138%08d"},"params":{"company":"Example Trading Co.","position":"Sales manager",`+
		`"city":"Hangzhou","salary":15000}}`, bizTypes[a], n, n, n%100_000, n%100_000_000)
}

// room is where one measurement takes place: names that no other uses.
type room struct {
	topic    string // of the events
	database string // postgres URL
	redisDB  int
	group    string
}

// job is what a child process is to do.
type job struct {
	role     string // rolePusher, roleFrameless, roleTutorial, roleGateway
	room     room
	action   push.Action
	inFlight int           // 0: the product's default
	latency  time.Duration // of the provider
	producer string        // of a gateway: the entry of who is let in
}

// environment is how a child process is told about its services; http is where it shows its metrics.
func (w *world) environment(j job, http string) []string {
	env := append(os.Environ(),
		"PUSHER_CONFIG="+filepath.Join(w.dir, "pusher.yaml"),
		"PUSHER_KAFKA_BROKERS="+w.kafka.Addr,
		"PUSHER_KAFKA_TOPIC="+j.room.topic,
		"PUSHER_KAFKA_RETRY_TOPIC="+retryTopic,
		"PUSHER_KAFKA_DEAD_LETTER_TOPIC="+letterTopic,
		"PUSHER_KAFKA_GROUP="+j.room.group,
		"PUSHER_REDIS_ADDRS="+w.redis.Addr,
		fmt.Sprintf("PUSHER_REDIS_DB=%d", j.room.redisDB),
		"PUSHER_POSTGRES_URL="+j.room.database,
		"PUSHER_HTTP_ADDR="+http,
	)
	if j.inFlight > 0 {
		env = append(env, fmt.Sprintf("PUSHER_WORKER_IN_FLIGHT=%d", j.inFlight))
	}
	if j.role == roleGateway {
		env = append(env, "PUSHER_GATEWAY_ADDR="+http, "PUSHER_GATEWAY_PRODUCERS="+j.producer,
			"PUSHER_GATEWAY_TOKEN_KEY="+strings.Repeat("bench", 8))
	}
	return env
}
