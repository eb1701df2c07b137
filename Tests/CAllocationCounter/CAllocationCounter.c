// Takes the place of the C library's allocation functions in the tests' process, and counts.
#include "CAllocationCounter.h"
#include <stdlib.h>

static _Thread_local unsigned long allocated;

unsigned long allocated_bytes(void) { return allocated; }

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OTHER_ALLOCATOR
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_OTHER_ALLOCATOR)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size) {
  allocated += size;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  allocated += count * size;
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  allocated += size;
  return __libc_realloc(memory, size);
}
#endif
