package local

import "syscall"

// childAttr puts a child into a process group of its own, so that Ctrl-C in a terminal reaches us first and we stop it
// in order, and has the kernel end it when we die without doing so.
func childAttr(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: owner}
}
