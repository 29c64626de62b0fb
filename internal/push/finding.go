package push

// Finding is a provider's answer to a Question. Not found proves nothing.
type Finding struct {
	Found     bool   // the provider took this very send: it named our reference
	MessageID string // the provider's own id of it; empty where it names none
	Hint      string // not found, and what may still be of it: for people, free of phones; decides nothing
}

// Hint is what a provider said about an attempt in doubt without proving it ours.
type Hint struct {
	ID      int64 // push_log.id
	Attempt int
	Text    string
}
