// For LD_PRELOAD: a disk that fails, and that loses unsynced data in a power cut.
//
// Calls on files whose path begins with FAULTS_FILES fail at random, as the numbers in FAULTS_DISK
// say. For each such file the folder FAULTS_AFTER_POWER_CUT holds a shadow: the disk's contents if
// the power failed now. The shadow has all data that a successful fsync covered, and a random
// choice of the sectors written since. After a failed fsync the unsynced data is lost, as on Linux:
// a later successful fsync does not write it.
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

// The calls that can fail, in the order of the file: first how many of 65,536 fail, then how many
// have failed.
enum call { WRITE, SYNC, TRUNCATE, MAP, READ, OPEN, CALLS };
enum { CODE = 2 * CALLS, NUMBERS };

enum { SECTOR = 512, FILES = 32, DESCRIPTORS = 4096 };

struct range {
  off_t start, end;
};

// A file of the store. All descriptors of the same path share it.
struct file {
  char path[1024];
  int shadow;  // -1 if there is none
  struct range *unsynced;
  size_t count, room;
  bool is_gone;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file files[FILES];
static int known;
static struct file *opened[DESCRIPTORS];
static volatile int32_t *numbers;
static uint64_t chance;
static const char *prefix, *folder;

#define REAL(name, type, ...) \
  static type (*real_##name)(__VA_ARGS__); \
  if (!real_##name) real_##name = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void prepare(void) {
  numbers = shared_numbers("FAULTS_DISK", NUMBERS);
  prefix = getenv("FAULTS_FILES");
  folder = getenv("FAULTS_AFTER_POWER_CUT");
  chance = strtoull(getenv("FAULTS_SEED") ?: "1", NULL, 10);
}

// The next random number below 65,536 (splitmix64).
static uint32_t next(void) {
  uint64_t z = __atomic_add_fetch(&chance, 0x9E3779B97F4A7C15, __ATOMIC_RELAXED);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return (z ^ (z >> 31)) & 0xFFFF;
}

// Whether this call should fail. If so, sets errno.
static bool fails(enum call call) {
  if (!numbers || numbers[call] == 0 || next() >= (uint32_t)numbers[call]) return false;
  __atomic_add_fetch(&numbers[CALLS + call], 1, __ATOMIC_RELAXED);
  errno = numbers[CODE];
  return true;
}

static struct file *file_of(int descriptor) {
  return descriptor >= 0 && descriptor < DESCRIPTORS ? opened[descriptor] : NULL;
}

static bool is_ours(const char *path) {
  if (!prefix || !path || strncmp(path, prefix, strlen(prefix))) return false;
  const char *rest = path + strlen(prefix);
  return !*rest || !strcmp(rest, "-wal") || !strcmp(rest, "-shm") || !strcmp(rest, "-journal");
}

static int open_shadow(const char *path) {
  // The shared-memory file is not needed after a power cut.
  if (!folder || strstr(path, "-shm")) return -1;
  char name[2048];
  snprintf(name, sizeof name, "%s/%s", folder, strrchr(path, '/') + 1);
  REAL(open64, int, const char *, int, ...);
  return real_open64(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static void note_open(int descriptor, const char *path) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS) return;
  pthread_mutex_lock(&lock);
  struct file *file = NULL;
  for (int each = 0; each < known; each++)
    if (!files[each].is_gone && !strcmp(files[each].path, path)) file = &files[each];
  if (!file && known < FILES) {
    file = &files[known++];
    snprintf(file->path, sizeof file->path, "%s", path);
    file->shadow = open_shadow(path);
  }
  opened[descriptor] = file;
  pthread_mutex_unlock(&lock);
}

static int opening(const char *path, int flags, mode_t mode) {
  REAL(open64, int, const char *, int, ...);
  if (!is_ours(path)) return real_open64(path, flags, mode);
  if (fails(OPEN)) return -1;
  int descriptor = real_open64(path, flags, mode);
  note_open(descriptor, path);
  return descriptor;
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opening(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opening(path, flags, mode);
}

int close(int descriptor) {
  REAL(close, int, int);
  if (descriptor >= 0 && descriptor < DESCRIPTORS) opened[descriptor] = NULL;
  return real_close(descriptor);
}

int unlink(const char *path) {
  REAL(unlink, int, const char *);
  if (is_ours(path)) {
    pthread_mutex_lock(&lock);
    for (int each = 0; each < known; each++)
      if (!files[each].is_gone && !strcmp(files[each].path, path)) {
        files[each].is_gone = true;
        if (files[each].shadow >= 0) {
          char name[2048];
          snprintf(name, sizeof name, "%s/%s", folder, strrchr(path, '/') + 1);
          real_unlink(name);
        }
      }
    pthread_mutex_unlock(&lock);
  }
  return real_unlink(path);
}

// Records unsynced data, and writes a random choice of its sectors to the shadow.
static void note_write(struct file *file, const char *bytes, off_t start, ssize_t count) {
  if (file->shadow < 0 || count <= 0) return;
  REAL(pwrite64, ssize_t, int, const void *, size_t, off_t);
  pthread_mutex_lock(&lock);
  for (off_t at = start; at < start + count;) {
    off_t end = (at / SECTOR + 1) * SECTOR;
    if (end > start + count) end = start + count;
    if (next() & 1) (void)!real_pwrite64(file->shadow, bytes + (at - start), end - at, at);
    at = end;
  }
  if (file->count == file->room) {
    file->room = file->room ? 2 * file->room : 64;
    file->unsynced = realloc(file->unsynced, file->room * sizeof(struct range));
    if (!file->unsynced) abort();
  }
  file->unsynced[file->count++] = (struct range){start, start + count};
  pthread_mutex_unlock(&lock);
}

static ssize_t writing(int descriptor, const void *bytes, size_t count, off_t start) {
  REAL(pwrite64, ssize_t, int, const void *, size_t, off_t);
  struct file *file = file_of(descriptor);
  if (!file) return real_pwrite64(descriptor, bytes, count, start);
  if (fails(WRITE)) {
    // A failed write may have written a part.
    int code = errno;
    size_t part = count / SECTOR / 2 * SECTOR;
    if (part && (next() & 1)) note_write(file, bytes, start, real_pwrite64(descriptor, bytes, part, start));
    errno = code;
    return -1;
  }
  ssize_t written = real_pwrite64(descriptor, bytes, count, start);
  note_write(file, bytes, start, written);
  return written;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t start) {
  return writing(descriptor, bytes, count, start);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t start) {
  return writing(descriptor, bytes, count, start);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off_t start) {
  REAL(pread64, ssize_t, int, void *, size_t, off_t);
  if (file_of(descriptor) && fails(READ)) return -1;
  return real_pread64(descriptor, bytes, count, start);
}

// Writes all unsynced data to the shadow. The caller holds the lock.
static void keep(struct file *file, int descriptor) {
  REAL(pwrite64, ssize_t, int, const void *, size_t, off_t);
  REAL(pread64, ssize_t, int, void *, size_t, off_t);
  REAL(ftruncate64, int, int, off_t);
  for (size_t each = 0; each < file->count; each++) {
    char bytes[65536];
    for (off_t at = file->unsynced[each].start; at < file->unsynced[each].end;) {
      off_t left = file->unsynced[each].end - at;
      ssize_t got = real_pread64(descriptor, bytes, left < (off_t)sizeof bytes ? (size_t)left : sizeof bytes, at);
      if (got <= 0) break;
      (void)!real_pwrite64(file->shadow, bytes, got, at);
      at += got;
    }
  }
  file->count = 0;
  struct stat status;
  if (!fstat(descriptor, &status)) (void)!real_ftruncate64(file->shadow, status.st_size);
}

static int syncing(int descriptor, int (*real)(int)) {
  struct file *file = file_of(descriptor);
  if (!file) return real(descriptor);
  if (fails(SYNC)) {
    int code = errno;
    pthread_mutex_lock(&lock);
    file->count = 0;
    pthread_mutex_unlock(&lock);
    errno = code;
    return -1;
  }
  int code = real(descriptor);
  if (!code && file->shadow >= 0) {
    pthread_mutex_lock(&lock);
    keep(file, descriptor);
    pthread_mutex_unlock(&lock);
  }
  return code;
}

int fsync(int descriptor) {
  REAL(fsync, int, int);
  return syncing(descriptor, real_fsync);
}

int fdatasync(int descriptor) {
  REAL(fdatasync, int, int);
  return syncing(descriptor, real_fdatasync);
}

static int truncating(int descriptor, off_t size) {
  REAL(ftruncate64, int, int, off_t);
  struct file *file = file_of(descriptor);
  if (file && fails(TRUNCATE)) return -1;
  int code = real_ftruncate64(descriptor, size);
  if (file && file->shadow >= 0 && !code && (next() & 1)) (void)!real_ftruncate64(file->shadow, size);
  return code;
}

int ftruncate64(int descriptor, off_t size) { return truncating(descriptor, size); }

int ftruncate(int descriptor, off_t size) { return truncating(descriptor, size); }

static void *mapping(void *at, size_t count, int protection, int flags, int descriptor, off_t start) {
  REAL(mmap64, void *, void *, size_t, int, int, int, off_t);
  if (file_of(descriptor) && fails(MAP)) return MAP_FAILED;
  return real_mmap64(at, count, protection, flags, descriptor, start);
}

void *mmap64(void *at, size_t count, int protection, int flags, int descriptor, off_t start) {
  return mapping(at, count, protection, flags, descriptor, start);
}

void *mmap(void *at, size_t count, int protection, int flags, int descriptor, off_t start) {
  return mapping(at, count, protection, flags, descriptor, start);
}
