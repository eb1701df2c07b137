// For LD_PRELOAD: a clock that can be set. The number in FAULTS_CLOCK is how many seconds it is
// ahead of the right time. It is negative if the clock is behind. Monotonic clocks, which measure
// waits, are not affected.
#define _GNU_SOURCE
#include "control.h"

#include <sys/time.h>
#include <time.h>

static volatile int32_t *numbers;

__attribute__((constructor)) static void prepare(void) { numbers = shared_numbers("FAULTS_CLOCK", 1); }

static int32_t ahead(void) { return numbers ? numbers[0] : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(clock, now);
  if (!code && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
  return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
  int code = real(now, zone);
  if (!code) now->tv_sec += ahead();
  return code;
}

time_t time(time_t *where) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  if (where) *where = now.tv_sec;
  return now.tv_sec;
}
