package push

import (
	"slices"
	"testing"
)

// TestStatusMovesAreTheContracts holds the life cycle to the table of docs/contract.md, section 5, with what the
// rules of docs/protocol.md add: P1 and Q6 for deferred and failed, the repeats of I6 and P4, O1.
func TestStatusMovesAreTheContracts(t *testing.T) {
	t.Parallel()
	table := map[Status][]Status{
		Sending:     Statuses(),
		Sent:        {Delivered, Undelivered},
		Delivered:   {},
		Undelivered: {},
		Failed:      {Queued, Dead, Expired, Unknown, Sent},
		Queued:      {Sending, Failed, Unknown, Expired, Sent},
		Deferred:    {Queued, Dead, Expired, Unknown, Sent},
		Unknown:     {Sent, Delivered, Undelivered, Failed, Queued, Sending, Dead},
		Dead:        {Queued},
		Expired:     {},
		Skipped:     {},
	}
	if len(table) != len(Statuses()) {
		t.Fatalf("%d statuses in the table, %d in the product", len(table), len(Statuses()))
	}
	for from, targets := range table {
		for _, to := range Statuses() {
			if got, want := from.CanBecome(to), slices.Contains(targets, to); got != want {
				t.Errorf("%s may become %s: %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestStatusSettledNeverGoesBack(t *testing.T) {
	t.Parallel()
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			reopened := from == Dead && to == Queued // by an operator (rule O1)
			if from.Settled() && !to.Settled() && from.CanBecome(to) && !reopened {
				t.Errorf("%s is settled and may become %s", from, to)
			}
		}
	}
	if Status("nonsense").Settled() || Status("nonsense").CanBecome(Sent) {
		t.Error("a status that is none is settled, or moves")
	}
}
