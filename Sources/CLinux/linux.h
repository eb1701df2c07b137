// What `import Glibc` doesn't show of Linux: epoll, eventfd and accept4.
#ifndef LOCKSTEP_CLINUX_H
#define LOCKSTEP_CLINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// accept4 with its address as plain bytes: glibc declares it with a transparent union, which Swift imports awkwardly.
static inline int lockstep_accept(int descriptor, struct sockaddr_storage *address, socklen_t *length) {
  return accept4(descriptor, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int lockstep_name_thread(const char *name) {
  return pthread_setname_np(pthread_self(), name);
}

#endif
