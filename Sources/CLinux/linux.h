// What `import Glibc` doesn't show of Linux: epoll, eventfd, accept4 and the names of threads.
#ifndef LOCKSTEP_CLINUX_H
#define LOCKSTEP_CLINUX_H

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// glibc declares these two under _GNU_SOURCE alone. Defining that here would give this module another view of the
// system's headers than other modules have, and Swift refuses to use both in one file.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);

// With the address as what it's stored in: `struct sockaddr *` would have to be rebound at every call.
static inline int lockstep_accept(int descriptor, struct sockaddr_storage *address, socklen_t *length) {
  return accept4(descriptor, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int lockstep_name_thread(const char *name) {
  return pthread_setname_np(pthread_self(), name);
}

#endif
