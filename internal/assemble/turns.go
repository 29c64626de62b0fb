package assemble

import (
	"github.com/redis/go-redis/v9"

	"pusher/internal/channels/rate"
	"pusher/internal/config"
	"pusher/internal/push"
)

// tencentQuestionsRate is how many questions a second Tencent allows an account.
const tencentQuestionsRate = 20

// tencentQuestions lets the passes that run at once, in whatever processes, share what Tencent allows one account. Close
// it in the end, before the client.
func tencentQuestions(client redis.UniversalClient, account string) *rate.Limiter {
	return rate.New(rate.Config{
		Name: rateName(config.ProviderTencent, account, callQuery), PerSecond: tencentQuestionsRate,
		Instance: push.NewOwner(), Client: client,
	})
}
