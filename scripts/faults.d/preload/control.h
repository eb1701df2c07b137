// The numbers of 32 bits that a preloaded library shares with the script. Both map the same file.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// Maps the numbers in the file that the variable names. Without such a file no call would fail, so
// it ends the process.
static inline volatile int32_t *shared_numbers(const char *variable, size_t count) {
  // Use the C library's own functions, because the preloaded library may replace them.
  int (*open_file)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  void *(*map)(void *, size_t, int, int, int, off_t) =
      (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  const char *path = getenv(variable);
  int file = path ? open_file(path, O_RDWR | O_CLOEXEC) : -1;
  void *numbers =
      file < 0 ? MAP_FAILED : map(NULL, count * sizeof(int32_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (numbers == MAP_FAILED) {
    fprintf(stderr, "%s names no file that can be mapped\n", variable);
    _exit(70);
  }
  close(file);
  return numbers;
}
