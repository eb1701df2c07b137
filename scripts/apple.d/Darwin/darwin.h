// The declarations of Apple's C library that the targets of an app use.
#pragma clang system_header

typedef unsigned short mode_t;
typedef long long off_t;
typedef int dev_t;
typedef int pid_t;
typedef long time_t;
typedef unsigned long size_t;
typedef long ssize_t;

struct timespec { time_t tv_sec; long tv_nsec; };
typedef enum { _CLOCK_REALTIME = 0, _CLOCK_MONOTONIC = 6 } clockid_t;
int clock_gettime(clockid_t, struct timespec *_Null_unspecified);

struct _opaque_pthread_mutex_t { long __sig; char __opaque[56]; };
struct _opaque_pthread_cond_t { long __sig; char __opaque[40]; };
struct _opaque_pthread_attr_t { long __sig; char __opaque[56]; };
struct _opaque_pthread_condattr_t { long __sig; char __opaque[8]; };
struct _opaque_pthread_mutexattr_t { long __sig; char __opaque[8]; };
struct _opaque_pthread_t { long __sig; char __opaque[8176]; };
typedef struct _opaque_pthread_mutex_t pthread_mutex_t;
typedef struct _opaque_pthread_cond_t pthread_cond_t;
typedef struct _opaque_pthread_attr_t pthread_attr_t;
typedef struct _opaque_pthread_condattr_t pthread_condattr_t;
typedef struct _opaque_pthread_mutexattr_t pthread_mutexattr_t;
typedef struct _opaque_pthread_t *pthread_t;

int pthread_create(
  pthread_t _Nullable *_Nonnull, const pthread_attr_t *_Nullable, void *_Nullable (*_Nonnull)(void *_Nonnull), void *_Nullable
);
int pthread_join(pthread_t _Nonnull, void *_Nullable *_Nullable);
int pthread_detach(pthread_t _Nonnull);
int pthread_setname_np(const char *_Nonnull);
int pthread_mutex_init(pthread_mutex_t *_Nonnull, const pthread_mutexattr_t *_Nullable);
int pthread_mutex_lock(pthread_mutex_t *_Nonnull);
int pthread_mutex_unlock(pthread_mutex_t *_Nonnull);
int pthread_mutex_destroy(pthread_mutex_t *_Nonnull);
int pthread_cond_init(pthread_cond_t *_Nonnull, const pthread_condattr_t *_Nullable);
int pthread_cond_destroy(pthread_cond_t *_Nonnull);
int pthread_cond_signal(pthread_cond_t *_Nonnull);
int pthread_cond_broadcast(pthread_cond_t *_Nonnull);
int pthread_cond_wait(pthread_cond_t *_Nonnull, pthread_mutex_t *_Nonnull);
int pthread_cond_timedwait(pthread_cond_t *_Nonnull, pthread_mutex_t *_Nonnull, const struct timespec *_Nullable);
int pthread_cond_timedwait_relative_np(
  pthread_cond_t *_Nonnull, pthread_mutex_t *_Nonnull, const struct timespec *_Nullable
);

struct stat { dev_t st_dev; mode_t st_mode; struct timespec st_mtimespec; off_t st_size; };
int stat(const char *_Null_unspecified, struct stat *_Null_unspecified);
pid_t getpid(void);
int kill(pid_t, int);
int close(int);
ssize_t read(int, void *_Null_unspecified, size_t);
ssize_t write(int, const void *_Null_unspecified, size_t);
ssize_t pwrite(int, const void *_Null_unspecified, size_t, off_t);
int rename(const char *_Nonnull, const char *_Nonnull);
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_NONBLOCK 4
#define O_CREAT 0x200
#define O_EXCL 0x800
#define O_EVTONLY 0x8000
#define O_NOCTTY 0x20000
#define O_CLOEXEC 0x1000000
#define EPERM 1
#define ENOENT 2
#define ESRCH 3
#define EACCES 13
#define EEXIST 17
#define ENOTDIR 20
#define ENOSPC 28
#define EROFS 30
#define EDQUOT 69

char *_Null_unspecified strdup(const char *_Null_unspecified);
char *_Null_unspecified strerror(int);
int memcmp(const void *_Null_unspecified, const void *_Null_unspecified, size_t);
int inet_pton(int, const char *_Null_unspecified, void *_Null_unspecified);
#define AF_INET6 30
