package push

import (
	"testing"
	"time"
)

func TestRowEntitlesOnlyItsOwner(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                string
		row                 Row
		exists, mine, other bool
	}{
		{"absent", Row{}, false, false, false},
		{"sending, mine", Row{ID: 1, Status: Sending, Owner: "me", LeaseLeft: time.Second}, true, true, false},
		{"sending, mine, lease over", Row{ID: 1, Status: Sending, Owner: "me"}, true, true, false},
		{"sending, another's", Row{ID: 1, Status: Sending, Owner: "you", LeaseLeft: time.Second}, true, false, true},
		{"sending, another's, lease over", Row{ID: 1, Status: Sending, Owner: "you"}, true, false, false},
		{"sent, mine", Row{ID: 1, Status: Sent, Owner: "me", LeaseLeft: time.Second}, true, false, false},
		{"unknown, another's", Row{ID: 1, Status: Unknown, Owner: "you", LeaseLeft: time.Second}, true, false, false},
	} {
		if got := tt.row.Exists(); got != tt.exists {
			t.Errorf("%s: exists %v", tt.name, got)
		}
		if got := tt.row.MayBeSent("me"); got != tt.mine {
			t.Errorf("%s: may be sent %v", tt.name, got)
		}
		if got := tt.row.HeldByOther("me"); got != tt.other {
			t.Errorf("%s: held by another %v", tt.name, got)
		}
	}
}
