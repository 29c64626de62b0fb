package push

// Header is one header of a Kafka record.
type Header struct {
	Key   string
	Value []byte
}

// Record is one Kafka record with where it stood.
type Record struct {
	Origin

	Key     []byte
	Value   []byte
	Headers []Header
}
