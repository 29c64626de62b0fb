package push

import (
	"bytes"
	"testing"
)

func TestHashOfARecipientNeedsItsKey(t *testing.T) {
	t.Parallel()
	one := HashRecipient("+8613800138000", []byte("a key of sixteen"))
	switch {
	case len(one) != 32:
		t.Errorf("%d bytes, want 32", len(one))
	case !bytes.Equal(one, HashRecipient("+8613800138000", []byte("a key of sixteen"))):
		t.Error("the same recipient hashes differently")
	case bytes.Equal(one, HashRecipient("+8613800138000", []byte("another of sixteen"))):
		t.Error("the key makes no difference")
	case bytes.Equal(one, HashRecipient("+8613800138001", []byte("a key of sixteen"))):
		t.Error("two recipients share a hash")
	case HashRecipient("", []byte("a key of sixteen")) != nil || HashRecipient("+8613800138000", nil) != nil:
		t.Error("a hash without recipient or key")
	}
}
