// For LD_PRELOAD: a system without more threads. FAULTS_THREADS holds three numbers: how many
// threads the process may have besides the first (negative: any number), how many it has, and how
// many were refused.
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <pthread.h>

static volatile int32_t *numbers;

__attribute__((constructor)) static void prepare(void) { numbers = shared_numbers("FAULTS_THREADS", 3); }

struct start {
  void *(*body)(void *);
  void *argument;
};

// Runs a thread's body, then decreases the number of threads.
static void *run(void *given) {
  struct start start = *(struct start *)given;
  free(given);
  void *result = start.body(start.argument);
  __atomic_sub_fetch(&numbers[1], 1, __ATOMIC_RELAXED);
  return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!real) real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
  int now = __atomic_add_fetch(&numbers[1], 1, __ATOMIC_RELAXED);
  struct start *start = numbers[0] >= 0 && now > numbers[0] ? NULL : malloc(sizeof *start);
  if (start) {
    *start = (struct start){body, argument};
    int code = real(thread, attributes, run, start);
    if (!code) return 0;
    free(start);
  }
  __atomic_sub_fetch(&numbers[1], 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&numbers[2], 1, __ATOMIC_RELAXED);
  return EAGAIN;
}
