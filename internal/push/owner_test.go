package push

import "testing"

func TestNewOwnerIsUniqueToTheCall(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		owner := NewOwner()
		if len(owner) != 26 || seen[owner] {
			t.Fatalf("owner %q is short, or came twice", owner)
		}
		seen[owner] = true
	}
}
