package push

import "errors"

// What a write to Kafka that failed says of its record. Any other error leaves it open whether the record is there.
var (
	// ErrUnwritten marks a record that certainly is not in Kafka and will not be by this write.
	ErrUnwritten = errors.New("not written")
	// ErrOversized marks a record that the topic never takes, for its size. It is unwritten too.
	ErrOversized = errors.New("over the topic's max.message.bytes")
)
