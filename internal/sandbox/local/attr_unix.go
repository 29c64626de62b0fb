//go:build unix && !linux

package local

import "syscall"

// childAttr puts a child into a process group of its own, so that Ctrl-C in a terminal reaches us first and we stop it
// in order.
func childAttr(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: owner}
}
