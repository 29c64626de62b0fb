package push

// Tally counts what a pass of the compensator did, or would do, rule by rule (docs/protocol.md, section 3).
type Tally struct {
	Requeued       int `json:"requeued"`        // Q1: failed or deferred, due again
	Republished    int `json:"republished"`     // Q2: queued, its retry message perhaps lost
	SweptQueued    int `json:"swept_queued"`    // Q3: stale sending, repeated harmlessly
	SweptUnknown   int `json:"swept_unknown"`   // Q3: stale sending, outcome unknown
	SweptDead      int `json:"swept_dead"`      // Q3: stale sending, retries used up
	Repeated       int `json:"repeated"`        // Q4: unknown, inside the provider's own dedup
	Asked          int `json:"asked"`           // Q5: questions put to a provider
	Found          int `json:"found"`           // Q5: of these, sent after all
	Resent         int `json:"resent"`          // Q5: sent again by policy, a possible duplicate
	Held           int `json:"held"`            // Q5: unknown rows that wait for an operator now
	Dead           int `json:"dead"`            // Q6: retries used up
	Expired        int `json:"expired"`         // Q6: past expires_at, never sent
	Doubted        int `json:"unknown"`         // Q6: past expires_at, but perhaps sent
	UnknownExpired int `json:"unknown_expired"` // Q6: unknown for too long, given up
	Letters        int `json:"letters"`         // Q7: dead letters written

	KeysChecked  int `json:"keys_checked"`  // Q8: dedup keys compared with their rows; no dry run counts them
	KeysRepaired int `json:"keys_repaired"` // Q8: of these, keys that had to be set right

	Receipts        int `json:"receipts"`         // P1: parked receipts that found their delivery; no dry run counts them
	ReceiptsDropped int `json:"receipts_dropped"` // receipts without delivery for too long, deleted; likewise

	HoursCounted int `json:"hours_counted"` // hours of push_hourly counted, since a row of theirs changed; likewise

	Pruned         int `json:"pruned"`          // finished rows that were older than they are kept, deleted; likewise
	MessagesPruned int `json:"messages_pruned"` // in-app messages likewise
}

// Add adds the counts of o.
func (t *Tally) Add(o Tally) {
	t.Requeued += o.Requeued
	t.Republished += o.Republished
	t.SweptQueued += o.SweptQueued
	t.SweptUnknown += o.SweptUnknown
	t.SweptDead += o.SweptDead
	t.Repeated += o.Repeated
	t.Asked += o.Asked
	t.Found += o.Found
	t.Resent += o.Resent
	t.Held += o.Held
	t.Dead += o.Dead
	t.Expired += o.Expired
	t.Doubted += o.Doubted
	t.UnknownExpired += o.UnknownExpired
	t.Letters += o.Letters
	t.KeysChecked += o.KeysChecked
	t.KeysRepaired += o.KeysRepaired
	t.Receipts += o.Receipts
	t.ReceiptsDropped += o.ReceiptsDropped
	t.HoursCounted += o.HoursCounted
	t.Pruned += o.Pruned
	t.MessagesPruned += o.MessagesPruned
}
