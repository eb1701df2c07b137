// Delays system calls of the tests, to find those that depend on time. scripts/test preloads it.
//
// One of 667 calls takes up to a second longer, before or after it happens. Then each thread of the
// tests, of their servers and of their clients is late now and then, as on a busy machine.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DELAYED_IN_A_MILLION = 1500, LONGEST_MICROSECONDS = 1000000 };

// Whether this process is one of Lockstep's. Others, such as swift, would only be slow.
static int delays;

__attribute__((constructor)) static void start(void) {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  delays = strncmp(name, "lockstep", 8) == 0;
}

static void delay(void) {
  static __thread uint64_t random;
  if (!delays) return;
  if (!random) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    random = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)syscall(SYS_gettid)) | 1;
  }
  // Xorshift.
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  if ((random >> 40) % 1000000 >= DELAYED_IN_A_MILLION) return;
  long microseconds = (long)((random >> 8) % LONGEST_MICROSECONDS);
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  int number = errno;
  // Nothing here may call a function that is replaced below.
  syscall(SYS_nanosleep, &time, NULL);
  errno = number;
}

#define DELAYED(result, name, parameters, arguments)            \
  result name parameters {                                      \
    static __typeof__(&name) next;                              \
    if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
    delay();                                                    \
    result value = next arguments;                              \
    delay();                                                    \
    return value;                                               \
  }

DELAYED(int, epoll_wait, (int set, struct epoll_event *events, int most, int time), (set, events, most, time))
DELAYED(int, poll, (struct pollfd * entries, nfds_t count, int time), (entries, count, time))
DELAYED(int, accept4, (int file, struct sockaddr *from, socklen_t *length, int flags), (file, from, length, flags))
DELAYED(ssize_t, read, (int file, void *bytes, size_t count), (file, bytes, count))
DELAYED(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count))
DELAYED(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count))
DELAYED(ssize_t, recv, (int file, void *bytes, size_t count, int flags), (file, bytes, count, flags))
DELAYED(ssize_t, send, (int file, const void *bytes, size_t count, int flags), (file, bytes, count, flags))
DELAYED(ssize_t, recvmsg, (int file, struct msghdr *message, int flags), (file, message, flags))
DELAYED(ssize_t, sendmsg, (int file, const struct msghdr *message, int flags), (file, message, flags))
DELAYED(int, fsync, (int file), (file))
DELAYED(int, fdatasync, (int file), (file))
DELAYED(int, close, (int file), (file))
