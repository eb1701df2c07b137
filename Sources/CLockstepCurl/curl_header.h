// libcurl, loaded when a server needs it, and never linked: with the thirty libraries that it brings it takes about 8 MiB
// and ten milliseconds or more of a start, which a server without an upstream shouldn't pay.
//
// The calls are here, and not in Swift, because those that set options take variable arguments, which Swift can't pass.
#ifndef LOCKSTEP_CCURL_H
#define LOCKSTEP_CCURL_H

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The functions of the library, by the types that its header gives them.
typedef struct lockstep_curl {
  __typeof__(curl_global_init) *global_init;
  __typeof__(curl_easy_init) *easy_init;
  __typeof__(curl_easy_setopt) *easy_set;
  __typeof__(curl_easy_getinfo) *easy_get;
  __typeof__(curl_easy_strerror) *easy_error;
  __typeof__(curl_easy_cleanup) *easy_cleanup;
  __typeof__(curl_slist_append) *list_append;
  __typeof__(curl_slist_free_all) *list_free;
  __typeof__(curl_multi_init) *multi_init;
  __typeof__(curl_multi_setopt) *multi_set;
  __typeof__(curl_multi_add_handle) *multi_add;
  __typeof__(curl_multi_remove_handle) *multi_remove;
  __typeof__(curl_multi_perform) *multi_perform;
  __typeof__(curl_multi_poll) *multi_poll;
  __typeof__(curl_multi_wakeup) *multi_wakeup;
  __typeof__(curl_multi_info_read) *multi_read;
  __typeof__(curl_multi_cleanup) *multi_cleanup;
} lockstep_curl;

static inline int lockstep_curl_find(void *library, const char *name, void *place, char *error, size_t length) {
  void *symbol = dlsym(library, name);
  // POSIX lets a pointer to data from dlsym stand for one to a function.
  memcpy(place, &symbol, sizeof symbol);
  if (!symbol) snprintf(error, length, "it has no %s", name);
  return symbol != NULL;
}

// Loads the library, for as long as the process lives. NULL, and why, when that can't be. The result is freed with free().
static inline lockstep_curl *lockstep_curl_load(const char *file, char *error, size_t length) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(error, length, "%s", reason ? reason : "it can't be loaded");
    return NULL;
  }
  lockstep_curl *curl = (lockstep_curl *)calloc(1, sizeof *curl);
  if (!curl) {
    snprintf(error, length, "out of memory");
    return NULL;
  }
#define LOCKSTEP_FIND(member, name) lockstep_curl_find(library, name, &curl->member, error, length)
  int found = LOCKSTEP_FIND(global_init, "curl_global_init") && LOCKSTEP_FIND(easy_init, "curl_easy_init") &&
              LOCKSTEP_FIND(easy_set, "curl_easy_setopt") && LOCKSTEP_FIND(easy_get, "curl_easy_getinfo") &&
              LOCKSTEP_FIND(easy_error, "curl_easy_strerror") && LOCKSTEP_FIND(easy_cleanup, "curl_easy_cleanup") &&
              LOCKSTEP_FIND(list_append, "curl_slist_append") && LOCKSTEP_FIND(list_free, "curl_slist_free_all") &&
              LOCKSTEP_FIND(multi_init, "curl_multi_init") && LOCKSTEP_FIND(multi_set, "curl_multi_setopt") &&
              LOCKSTEP_FIND(multi_add, "curl_multi_add_handle") &&
              LOCKSTEP_FIND(multi_remove, "curl_multi_remove_handle") &&
              LOCKSTEP_FIND(multi_perform, "curl_multi_perform") && LOCKSTEP_FIND(multi_poll, "curl_multi_poll") &&
              LOCKSTEP_FIND(multi_wakeup, "curl_multi_wakeup") && LOCKSTEP_FIND(multi_read, "curl_multi_info_read") &&
              LOCKSTEP_FIND(multi_cleanup, "curl_multi_cleanup");
#undef LOCKSTEP_FIND
  if (found) {
    CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OK) return curl;
    snprintf(error, length, "it can't be set up: %s", curl->easy_error(code));
  }
  free(curl);
  return NULL;
}

// Where many transfers run; connections that were used and lie idle are kept, a few of them.
static inline CURLM *lockstep_multi_make(const lockstep_curl *curl) {
  CURLM *multi = curl->multi_init();
  if (multi) curl->multi_set(multi, CURLMOPT_MAXCONNECTS, 8L);
  return multi;
}

// One transfer: what libcurl holds of it, and what it points into.
typedef struct lockstep_transfer {
  CURL *easy;
  struct curl_slist *fields;
  size_t received;
  size_t limit;
  int has_head;
  char error[CURL_ERROR_SIZE];
} lockstep_transfer;

// How far a transfer may go.
typedef struct lockstep_bounds {
  long connect_milliseconds;
  long total_milliseconds;
  size_t answer_bytes;
  // Whether what the variables `https_proxy` and their like say is passed over.
  int ignores_proxies;
} lockstep_bounds;

// Nobody reads what comes: it's counted, and past the limit the transfer ends.
static inline size_t lockstep_count_answer(char *bytes, size_t size, size_t count, void *transfer) {
  (void)bytes;
  lockstep_transfer *into = (lockstep_transfer *)transfer;
  into->received += size * count;
  return into->received > into->limit ? 0 : size * count;
}

// The same for the head, line by line. A head that ends before its empty line would do for libcurl, and isn't an answer.
static inline size_t lockstep_count_line(char *bytes, size_t size, size_t count, void *transfer) {
  size_t length = size * count;
  if (length >= 5 && !memcmp(bytes, "HTTP/", 5)) ((lockstep_transfer *)transfer)->has_head = 0;
  if (length <= 2 && length > 0 && bytes[length - 1] == '\n') ((lockstep_transfer *)transfer)->has_head = 1;
  return lockstep_count_answer(bytes, size, count, transfer);
}

static inline void lockstep_transfer_free(const lockstep_curl *curl, lockstep_transfer *transfer) {
  if (transfer->easy) curl->easy_cleanup(transfer->easy);
  curl->list_free(transfer->fields);
  free(transfer);
}

static inline int lockstep_add_field(const lockstep_curl *curl, lockstep_transfer *transfer, const char *line) {
  struct curl_slist *fields = curl->list_append(transfer->fields, line);
  if (fields) transfer->fields = fields;
  return fields != NULL;
}

// Begins a POST; NULL when there is no memory, or the library doesn't know one of the options. All that it's given is
// copied. `authorities` is a file of certificates to trust in place of the system's; NULL: the system's.
static inline lockstep_transfer *lockstep_post_begin(const lockstep_curl *curl, CURLM *multi, const char *url,
                                                     const char *content_type, const char *user_agent,
                                                     const char *authorities, const void *body, size_t length,
                                                     lockstep_bounds bounds) {
  lockstep_transfer *transfer = (lockstep_transfer *)calloc(1, sizeof *transfer);
  if (!transfer) return NULL;
  transfer->limit = bounds.answer_bytes;
  CURL *easy = transfer->easy = curl->easy_init();
  char type[256];
  snprintf(type, sizeof type, "Content-Type: %s", content_type);
  // `Expect` would hold the body back for a second where nobody answers it.
  int is_set = easy && lockstep_add_field(curl, transfer, type) && lockstep_add_field(curl, transfer, "Expect:");
#define LOCKSTEP_SET(option, value) is_set = is_set && curl->easy_set(easy, option, value) == CURLE_OK
  LOCKSTEP_SET(CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
  LOCKSTEP_SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  LOCKSTEP_SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  // Whoever waits for a name that doesn't come gives up without waiting for the thread that asks for it.
  LOCKSTEP_SET(CURLOPT_QUICK_EXIT, 1L);
#endif
  LOCKSTEP_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  LOCKSTEP_SET(CURLOPT_FOLLOWLOCATION, 0L);
  LOCKSTEP_SET(CURLOPT_SSL_VERIFYPEER, 1L);
  LOCKSTEP_SET(CURLOPT_SSL_VERIFYHOST, 2L);
  LOCKSTEP_SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (authorities) LOCKSTEP_SET(CURLOPT_CAINFO, authorities);
  if (bounds.ignores_proxies) LOCKSTEP_SET(CURLOPT_NOPROXY, "*");
  LOCKSTEP_SET(CURLOPT_NOSIGNAL, 1L);
  LOCKSTEP_SET(CURLOPT_CONNECTTIMEOUT_MS, bounds.connect_milliseconds);
  LOCKSTEP_SET(CURLOPT_TIMEOUT_MS, bounds.total_milliseconds);
  LOCKSTEP_SET(CURLOPT_USERAGENT, user_agent);
  LOCKSTEP_SET(CURLOPT_HTTPHEADER, transfer->fields);
  LOCKSTEP_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
  LOCKSTEP_SET(CURLOPT_COPYPOSTFIELDS, body);
  LOCKSTEP_SET(CURLOPT_WRITEFUNCTION, &lockstep_count_answer);
  LOCKSTEP_SET(CURLOPT_WRITEDATA, transfer);
  LOCKSTEP_SET(CURLOPT_HEADERFUNCTION, &lockstep_count_line);
  LOCKSTEP_SET(CURLOPT_HEADERDATA, transfer);
  LOCKSTEP_SET(CURLOPT_ERRORBUFFER, transfer->error);
  LOCKSTEP_SET(CURLOPT_PRIVATE, transfer);
#undef LOCKSTEP_SET
  if (is_set && curl->multi_add(multi, easy) == CURLM_OK) return transfer;
  lockstep_transfer_free(curl, transfer);
  return NULL;
}

// Takes a transfer out, also one that runs, and frees it.
static inline void lockstep_transfer_end(const lockstep_curl *curl, CURLM *multi, lockstep_transfer *transfer) {
  curl->multi_remove(multi, transfer->easy);
  lockstep_transfer_free(curl, transfer);
}

// Gets on with all transfers as far as that goes without waiting; 0 when something is wrong with all of them.
static inline int lockstep_multi_perform(const lockstep_curl *curl, CURLM *multi) {
  int running;
  return curl->multi_perform(multi, &running) == CURLM_OK;
}

// Returns when there is something to get on with, or somebody woke it; 0 when it can't wait.
static inline int lockstep_multi_wait(const lockstep_curl *curl, CURLM *multi) {
  return curl->multi_poll(multi, NULL, 0, 60000, NULL) == CURLM_OK;
}

// Ends the wait, or the next one: the only call that other threads may make.
static inline void lockstep_multi_wake(const lockstep_curl *curl, CURLM *multi) { curl->multi_wakeup(multi); }

static inline void lockstep_multi_free(const lockstep_curl *curl, CURLM *multi) { curl->multi_cleanup(multi); }

// How a transfer ended.
typedef struct lockstep_ending {
  lockstep_transfer *transfer;
  CURLcode code;
  long status;
} lockstep_ending;

// One that has ended, with a NULL for none. It's still to be taken out.
static inline lockstep_ending lockstep_multi_ended(const lockstep_curl *curl, CURLM *multi) {
  lockstep_ending ending = {0};
  int left;
  CURLMsg *message;
  while ((message = curl->multi_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    ending.code = message->data.result;
    curl->easy_get(message->easy_handle, CURLINFO_RESPONSE_CODE, &ending.status);
    curl->easy_get(message->easy_handle, CURLINFO_PRIVATE, &ending.transfer);
    if (ending.code == CURLE_OK && !ending.transfer->has_head) ending.code = CURLE_GOT_NOTHING;
    break;
  }
  return ending;
}

// What went wrong, in libcurl's words, copied with its final zero byte.
static inline void lockstep_ending_text(const lockstep_curl *curl, lockstep_ending ending, char *text, size_t length) {
  const char *words = ending.transfer->error;
  snprintf(text, length, "%s", *words ? words : curl->easy_error(ending.code));
}

#endif
