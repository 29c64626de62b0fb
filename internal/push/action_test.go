package push

import (
	"slices"
	"testing"
)

func TestActionsAndWhatTheyCanDo(t *testing.T) {
	t.Parallel()
	if want := []Action{Notify, SMS, WeChat}; !slices.Equal(Actions(), want) {
		t.Errorf("actions = %v, want %v", Actions(), want)
	}
	for action, want := range map[Action]Capability{Notify: Transactional, SMS: Opaque, WeChat: Windowed, "fax": Opaque} {
		if got := action.Capability(); got != want {
			t.Errorf("%s: capability %d, want %d", action, got, want)
		}
		if got := action.Known(); got != (action != "fax") {
			t.Errorf("%s: known %v", action, got)
		}
	}
}
