//go:build unix

package local

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// unprivileged picks who runs a server that refuses root: nil (the caller) for anybody else, the user postgres or nobody
// for root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is how os/exec spells "as the caller"
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if errUID == nil && errGID == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("looking for a user to run postgres as, which refuses root: neither postgres nor nobody exists")
}

// give makes paths the owner's.
func give(owner *syscall.Credential, paths ...string) error {
	if owner == nil {
		return nil
	}
	for _, path := range paths {
		if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("giving %s to uid %d: %w", path, owner.Uid, err)
		}
	}
	return nil
}

// tempFor is the temporary directory, or /tmp where a foreign owner could not reach that one.
func tempFor(owner *syscall.Credential) string {
	dir := os.TempDir()
	if owner == nil || Reachable(dir) {
		return dir
	}
	return "/tmp"
}

// Reachable tells whether every user may enter dir and each directory above it.
func Reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
