// libcurl, loaded at run time and never linked. With its thirty libraries it takes about 8 MiB and
// at least ten milliseconds of a start. A server without an upstream does not pay for that.
//
// The calls are here because those that set options are variadic, and Swift cannot call variadic
// functions.
#ifndef LOCKSTEP_CCURL_H
#define LOCKSTEP_CCURL_H

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The functions of the library, with their types from its header.
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
  // POSIX allows a data pointer from dlsym to be used as a function pointer.
  memcpy(place, &symbol, sizeof symbol);
  if (!symbol) snprintf(error, length, "it has no %s", name);
  return symbol != NULL;
}

// Loads the library for the life of the process. Returns NULL and a reason on failure. Free the
// result with free().
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

// Makes the handle of all transfers. It keeps a few idle connections for reuse.
static inline CURLM *lockstep_multi_make(const lockstep_curl *curl) {
  CURLM *multi = curl->multi_init();
  if (multi) curl->multi_set(multi, CURLMOPT_MAXCONNECTS, 8L);
  return multi;
}

// One transfer: libcurl's handle, and the memory that the handle points into.
typedef struct lockstep_transfer {
  CURL *easy;
  struct curl_slist *fields;
  size_t received;
  size_t limit;
  int has_head;
  char error[CURL_ERROR_SIZE];
} lockstep_transfer;

// The limits of a transfer.
typedef struct lockstep_bounds {
  long connect_milliseconds;
  long total_milliseconds;
  size_t answer_bytes;
  // Whether to ignore `https_proxy` and similar variables.
  int ignores_proxies;
} lockstep_bounds;

// Counts the bytes of a body and discards them. Past the limit, the transfer ends.
static inline size_t lockstep_count_answer(char *bytes, size_t size, size_t count, void *transfer) {
  (void)bytes;
  lockstep_transfer *into = (lockstep_transfer *)transfer;
  into->received += size * count;
  return into->received > into->limit ? 0 : size * count;
}

// Counts the bytes of a head, line by line. libcurl accepts a head without an empty line at its
// end, but it is not a complete response.
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

// Starts a POST. Returns NULL if memory is short or the library does not know an option. All
// arguments are copied. `authorities` is a file of certificates to trust instead of the system's.
// NULL: trust the system's.
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
  // With `Expect`, libcurl would wait a second for a server that does not support it.
  int is_set = easy && lockstep_add_field(curl, transfer, type) && lockstep_add_field(curl, transfer, "Expect:");
#define LOCKSTEP_SET(option, value) is_set = is_set && curl->easy_set(easy, option, value) == CURLE_OK
  LOCKSTEP_SET(CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
  LOCKSTEP_SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  LOCKSTEP_SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  // Ends a transfer without waiting for the thread that resolves its host name.
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

// Removes a transfer, even a running one, and frees it.
static inline void lockstep_transfer_end(const lockstep_curl *curl, CURLM *multi, lockstep_transfer *transfer) {
  curl->multi_remove(multi, transfer->easy);
  lockstep_transfer_free(curl, transfer);
}

// Continues all transfers as far as possible without waiting. Returns 0 if no transfer can
// continue.
static inline int lockstep_multi_perform(const lockstep_curl *curl, CURLM *multi) {
  int running;
  return curl->multi_perform(multi, &running) == CURLM_OK;
}

// Returns when a transfer can continue, or when another thread calls `lockstep_multi_wake`. Returns
// 0 if it cannot wait.
static inline int lockstep_multi_wait(const lockstep_curl *curl, CURLM *multi) {
  return curl->multi_poll(multi, NULL, 0, 60000, NULL) == CURLM_OK;
}

// Ends this wait, or the next one. Other threads may make no other call.
static inline void lockstep_multi_wake(const lockstep_curl *curl, CURLM *multi) { curl->multi_wakeup(multi); }

static inline void lockstep_multi_free(const lockstep_curl *curl, CURLM *multi) { curl->multi_cleanup(multi); }

// The outcome of a transfer.
typedef struct lockstep_ending {
  lockstep_transfer *transfer;
  CURLcode code;
  long status;
} lockstep_ending;

// Returns a transfer that has ended, or NULL if there is none. The caller must still remove it.
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

// Copies libcurl's description of the failure, with its final zero byte.
static inline void lockstep_ending_text(const lockstep_curl *curl, lockstep_ending ending, char *text, size_t length) {
  const char *words = ending.transfer->error;
  snprintf(text, length, "%s", *words ? words : curl->easy_error(ending.code));
}

#endif
