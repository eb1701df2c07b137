// Parts of Linux that `import Glibc` does not show: epoll, eventfd, accept4, peer credentials, prctl,
// malloc_trim and the cores that a process may use.
#ifndef LOCKSTEP_CLINUX_H
#define LOCKSTEP_CLINUX_H

#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc declares accept4 only with _GNU_SOURCE. Defining that here would make this module see other
// system headers than the rest. Swift refuses to use both in one file.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// Takes the address as sockaddr_storage. With `struct sockaddr *`, Swift would have to rebind the
// pointer at every call.
static inline int lockstep_accept(int descriptor, struct sockaddr_storage *address, socklen_t *length) {
  return accept4(descriptor, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// The user of the process at the other end of a Unix socket, or -1. The C library declares the kernel's struct
// only with _GNU_SOURCE.
static inline long lockstep_peer_user(int descriptor) {
  struct { pid_t process; uid_t user; gid_t group; } peer;
  socklen_t length = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? (long)peer.user : -1;
}

// Writes the cores that this process may run on, one bit for each. Makes the system call itself,
// because the C library's function needs _GNU_SOURCE. Returns the number of bytes, or -1.
static inline long lockstep_affinity(void *mask, size_t size) {
  return syscall(SYS_sched_getaffinity, 0, size, mask);
}

// Whether the process's memory may be dumped or inspected. Swift cannot call variadic functions
// such as prctl.
static inline int lockstep_set_dumpable(int is_dumpable) { return prctl(PR_SET_DUMPABLE, is_dumpable, 0, 0, 0); }
static inline int lockstep_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

#endif
