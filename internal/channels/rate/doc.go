// Package rate keeps requests below so many a second over all processes that share a Redis, in the order in which they
// ask, and evenly: no burst at all, whatever was not used before.
//
// It reads the limiter of go-redis/redis_rate as a time line with one slot for each request. That limiter's burst says
// how many requests may come at once, which is why its PerSecond(100) lets 199 through in the first second. Here it says
// how far ahead slots may be taken, and each is used when its own time comes: what is taken early waits here, so that a
// slow Redis or a busy machine costs no slot, and what is not used in time lapses. Any second therefore sees the rate,
// plus what a slot may be late, and never what was saved up.
//
// While Redis is away, or slow, each process keeps to its share: the rate divided by the processes that used it last.
package rate
