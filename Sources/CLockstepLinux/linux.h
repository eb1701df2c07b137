// What `import Glibc` doesn't show of Linux: epoll, eventfd, accept4, prctl, malloc_trim and the
// cores a process may use.
#ifndef LOCKSTEP_CLINUX_H
#define LOCKSTEP_CLINUX_H

#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc declares accept4 under _GNU_SOURCE alone. Defining that here would give this module another view of the
// system's headers than other modules have, and Swift refuses to use both in one file.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// With the address as what it's stored in: `struct sockaddr *` would have to be rebound at every call.
static inline int lockstep_accept(int descriptor, struct sockaddr_storage *address, socklen_t *length) {
  return accept4(descriptor, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// The cores that this process may run on, a bit each. The kernel's own call: the C library's needs _GNU_SOURCE too.
// Gives how many bytes were written, or -1.
static inline long lockstep_affinity(void *mask, size_t size) {
  return syscall(SYS_sched_getaffinity, 0, size, mask);
}

// Whether the process's memory may be dumped or looked into. Swift can't call what takes any number of arguments.
static inline int lockstep_set_dumpable(int is_dumpable) { return prctl(PR_SET_DUMPABLE, is_dumpable, 0, 0, 0); }
static inline int lockstep_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

#endif
