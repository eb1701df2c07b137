// libcurl, loaded at run time and never linked. With its thirty libraries it takes about 8 MiB and
// at least ten milliseconds of a start. A server without an upstream does not pay for that.
//
// The calls are here because those that set options are variadic, and Swift cannot call variadic
// functions.
#ifndef LOCKSTEP_CCURL_H
#define LOCKSTEP_CCURL_H

#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define LOCKSTEP_CURL_FUNCTIONS(USE)                                                               \
  USE(global_init) USE(easy_init) USE(easy_setopt) USE(easy_getinfo) USE(easy_strerror)            \
  USE(easy_cleanup) USE(slist_append) USE(slist_free_all) USE(multi_init) USE(multi_setopt)        \
  USE(multi_add_handle) USE(multi_remove_handle) USE(multi_perform) USE(multi_poll)                \
  USE(multi_wakeup) USE(multi_info_read) USE(multi_cleanup)

// The functions of the library, with their types from its header.
typedef struct lockstep_curl {
#define LOCKSTEP_MEMBER(name) __typeof__(curl_##name) *name;
  LOCKSTEP_CURL_FUNCTIONS(LOCKSTEP_MEMBER)
#undef LOCKSTEP_MEMBER
} lockstep_curl;

static inline int lockstep_curl_find(void *library, const char *name, void *place, char *error, size_t length) {
  void *symbol = dlsym(library, name);
  // POSIX allows a data pointer from dlsym to be used as a function pointer.
  memcpy(place, &symbol, sizeof symbol);
  if (!symbol) snprintf(error, length, "it has no %s", name);
  return symbol != NULL;
}

// Loads the library for the life of the process. Returns NULL and a reason, or a result for free().
static inline lockstep_curl *lockstep_curl_load(const char *file, char *error, size_t length) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(error, length, "%s", reason ? reason : "it cannot be loaded");
    return NULL;
  }
  lockstep_curl *curl = (lockstep_curl *)calloc(1, sizeof *curl);
  if (!curl) {
    snprintf(error, length, "out of memory");
    return NULL;
  }
  int found = 1;
#define LOCKSTEP_FIND(name) found = found && lockstep_curl_find(library, "curl_" #name, &curl->name, error, length);
  LOCKSTEP_CURL_FUNCTIONS(LOCKSTEP_FIND)
#undef LOCKSTEP_FIND
  if (found) {
    CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OK) return curl;
    snprintf(error, length, "it cannot be set up: %s", curl->easy_strerror(code));
  }
  free(curl);
  return NULL;
}

// Makes the handle of all transfers. It keeps a few idle connections for reuse.
static inline CURLM *lockstep_multi_make(const lockstep_curl *curl) {
  CURLM *multi = curl->multi_init();
  if (multi) curl->multi_setopt(multi, CURLMOPT_MAXCONNECTS, 8L);
  return multi;
}

typedef int (*lockstep_address_rule)(const struct sockaddr *address);
typedef int (*lockstep_cancellation)(const void *request);

// libcurl's handle of a transfer, and the memory that the handle points into.
typedef struct lockstep_transfer {
  CURL *easy;
  struct curl_slist *fields;
  size_t received;
  size_t limit;
  int has_head;
  // The value of the last field Cache-Control, or empty. A longer value is left out.
  char cache_control[256];
  // The body of the response. It has at most `limit` bytes.
  char *body;
  size_t body_length;
  size_t body_capacity;
  // Whether a longer body is cut off instead of an error, and whether that has happened.
  int cuts_body;
  int is_cut;
  // Decides whether the transfer may connect to an address. NULL allows all.
  lockstep_address_rule permits;
  int has_permitted_address;
  // The last address that `permits` refused, or an empty text.
  char refused_address[INET6_ADDRSTRLEN];
  // The message of a mail, and how much of it has been sent.
  char *mail;
  size_t mail_length;
  size_t mail_sent;
  // Whether the mail server has replied to the whole message, whether it has accepted it, and whether
  // the client gave up before.
  int has_final_reply;
  int is_accepted;
  int is_given_up;
  // The last refusal of the mail server, without control characters.
  char reply[200];
  // Whether the caller no longer waits for `request`.
  lockstep_cancellation is_cancelled;
  const void *request;
  // In seconds of the monotonic clock: the end of the time for the mail, and the moment of the last
  // reply if it was a refusal, otherwise 0.
  time_t latest;
  time_t refused;
  char error[CURL_ERROR_SIZE];
} lockstep_transfer;

typedef struct lockstep_bounds {
  long connect_milliseconds;
  long total_milliseconds;
  size_t response_bytes;
  // Whether to ignore `https_proxy` and similar variables.
  int ignores_proxies;
  int cuts_body;
  lockstep_address_rule permits;
} lockstep_bounds;

// Counts the bytes of a response. Past the limit, the transfer ends.
static inline size_t lockstep_count_bytes(size_t length, lockstep_transfer *into) {
  into->received += length;
  return into->received > into->limit ? 0 : length;
}

// Keeps the bytes of a body.
static inline size_t lockstep_take_body(char *bytes, size_t size, size_t count, void *transfer) {
  lockstep_transfer *into = (lockstep_transfer *)transfer;
  size_t length = size * count;
  if (length == 0 || lockstep_count_bytes(length, into) == 0) {
    into->is_cut = into->cuts_body && into->has_head && into->received > into->limit;
    return 0;
  }
  if (length > into->body_capacity - into->body_length) {
    size_t capacity = 2 * (into->body_length + length);
    char *body = (char *)realloc(into->body, capacity);
    if (!body) return 0;
    into->body = body;
    into->body_capacity = capacity;
  }
  memcpy(into->body + into->body_length, bytes, length);
  into->body_length += length;
  return length;
}

// Called for each line of a head. libcurl accepts a head without an empty line at its end.
static inline size_t lockstep_take_line(char *bytes, size_t size, size_t count, void *transfer) {
  static const char name[] = "cache-control:";
  lockstep_transfer *into = (lockstep_transfer *)transfer;
  size_t length = size * count, begin = sizeof name - 1;
  if (length >= 5 && !memcmp(bytes, "HTTP/", 5)) {
    // The head of the response follows those of interim responses and proxies.
    into->has_head = 0;
    into->cache_control[0] = 0;
  }
  if (length <= 2 && length > 0 && bytes[length - 1] == '\n') into->has_head = 1;
  if (length > begin && length - begin < sizeof into->cache_control && !strncasecmp(bytes, name, begin)) {
    memcpy(into->cache_control, bytes + begin, length - begin);
    into->cache_control[length - begin] = 0;
  }
  return lockstep_count_bytes(length, into);
}

static inline void lockstep_transfer_free(const lockstep_curl *curl, lockstep_transfer *transfer) {
  if (transfer->easy) curl->easy_cleanup(transfer->easy);
  curl->slist_free_all(transfer->fields);
  free(transfer->body);
  free(transfer->mail);
  free(transfer);
}

static inline int lockstep_add_field(const lockstep_curl *curl, lockstep_transfer *transfer, const char *line) {
  struct curl_slist *fields = curl->slist_append(transfer->fields, line);
  if (fields) transfer->fields = fields;
  return fields != NULL;
}

// Adds lines that are separated by newlines.
static inline int lockstep_add_fields(const lockstep_curl *curl, lockstep_transfer *transfer, const char *lines) {
  char *copy = strdup(lines), *rest = NULL;
  int is_added = copy != NULL;
  char *line = copy ? strtok_r(copy, "\n", &rest) : NULL;
  for (; line && is_added; line = strtok_r(NULL, "\n", &rest)) is_added = lockstep_add_field(curl, transfer, line);
  free(copy);
  return is_added;
}

// Called with each address just before libcurl connects to it, after name resolution. So a name that
// changes its address between two lookups cannot lead to a private one.
static inline curl_socket_t lockstep_open_socket(void *transfer, curlsocktype purpose, struct curl_sockaddr *address) {
  lockstep_transfer *of = (lockstep_transfer *)transfer;
  (void)purpose;
  if (of->permits(&address->addr)) {
    of->has_permitted_address = 1;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
  const void *number = address->family == AF_INET6 ? (const void *)&((struct sockaddr_in6 *)&address->addr)->sin6_addr
                                                   : (const void *)&((struct sockaddr_in *)&address->addr)->sin_addr;
  if (!inet_ntop(address->family, number, of->refused_address, sizeof of->refused_address))
    snprintf(of->refused_address, sizeof of->refused_address, "an unknown address");
  return CURL_SOCKET_BAD;
}

#define LOCKSTEP_SET(option, value) is_set = is_set && curl->easy_setopt(easy, option, value) == CURLE_OK

// Sets what HTTP and mail have in common. Returns 0 if memory is short or the library does not know
// an option.
static inline int lockstep_set_common(const lockstep_curl *curl, lockstep_transfer *transfer, const char *url,
                                      const char *authorities, lockstep_bounds bounds) {
  CURL *easy = transfer->easy;
  int is_set = easy != NULL;
  transfer->limit = bounds.response_bytes;
  transfer->cuts_body = bounds.cuts_body;
  transfer->permits = bounds.permits;
  LOCKSTEP_SET(CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075700
  // Ends a transfer without waiting for the thread that resolves its host name.
  LOCKSTEP_SET(CURLOPT_QUICK_EXIT, 1L);
#endif
  LOCKSTEP_SET(CURLOPT_SSL_VERIFYPEER, 1L);
  LOCKSTEP_SET(CURLOPT_SSL_VERIFYHOST, 2L);
  LOCKSTEP_SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (authorities) LOCKSTEP_SET(CURLOPT_CAINFO, authorities);
  if (bounds.ignores_proxies) LOCKSTEP_SET(CURLOPT_NOPROXY, "*");
  if (bounds.permits) {
    LOCKSTEP_SET(CURLOPT_OPENSOCKETFUNCTION, &lockstep_open_socket);
    LOCKSTEP_SET(CURLOPT_OPENSOCKETDATA, transfer);
  }
  LOCKSTEP_SET(CURLOPT_NOSIGNAL, 1L);
  LOCKSTEP_SET(CURLOPT_CONNECTTIMEOUT_MS, bounds.connect_milliseconds);
  LOCKSTEP_SET(CURLOPT_TIMEOUT_MS, bounds.total_milliseconds);
  LOCKSTEP_SET(CURLOPT_HEADERDATA, transfer);
  LOCKSTEP_SET(CURLOPT_ERRORBUFFER, transfer->error);
  LOCKSTEP_SET(CURLOPT_PRIVATE, transfer);
  return is_set;
}

// Starts a POST, or a GET for JSON if `content_type` is NULL. Returns NULL if memory is short or the
// library does not know an option. All arguments are copied. `fields` are more lines of the head,
// separated by newlines, or NULL. `authorities` is a file of certificates to trust, or NULL for the
// system's.
static inline lockstep_transfer *lockstep_transfer_begin(const lockstep_curl *curl, CURLM *multi, const char *url,
                                                         const char *content_type, const char *fields,
                                                         const char *user_agent, const char *authorities,
                                                         const void *body, size_t length, lockstep_bounds bounds) {
  lockstep_transfer *transfer = (lockstep_transfer *)calloc(1, sizeof *transfer);
  if (!transfer) return NULL;
  CURL *easy = transfer->easy = curl->easy_init();
  char type[256];
  snprintf(type, sizeof type, "%s: %s", content_type ? "Content-Type" : "Accept",
           content_type ? content_type : "application/json");
  // With `Expect`, libcurl would wait a second for a server that does not support it.
  int is_set = easy && lockstep_add_field(curl, transfer, type) && lockstep_add_field(curl, transfer, "Expect:");
  if (fields) is_set = is_set && lockstep_add_fields(curl, transfer, fields);
  is_set = is_set && lockstep_set_common(curl, transfer, url, authorities, bounds);
#if LIBCURL_VERSION_NUM >= 0x075500
  LOCKSTEP_SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  LOCKSTEP_SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  LOCKSTEP_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  LOCKSTEP_SET(CURLOPT_FOLLOWLOCATION, 0L);
  LOCKSTEP_SET(CURLOPT_USERAGENT, user_agent);
  LOCKSTEP_SET(CURLOPT_HTTPHEADER, transfer->fields);
  if (content_type) {
    LOCKSTEP_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    LOCKSTEP_SET(CURLOPT_COPYPOSTFIELDS, body);
  }
  LOCKSTEP_SET(CURLOPT_WRITEFUNCTION, &lockstep_take_body);
  LOCKSTEP_SET(CURLOPT_WRITEDATA, transfer);
  LOCKSTEP_SET(CURLOPT_HEADERFUNCTION, &lockstep_take_line);
  if (is_set && curl->multi_add_handle(multi, easy) == CURLM_OK) return transfer;
  lockstep_transfer_free(curl, transfer);
  return NULL;
}

static inline void lockstep_transfer_end(const lockstep_curl *curl, CURLM *multi, lockstep_transfer *transfer) {
  curl->multi_remove_handle(multi, transfer->easy);
  lockstep_transfer_free(curl, transfer);
}

// Continues all transfers without waiting. Returns 0 if none can continue.
static inline int lockstep_multi_perform(const lockstep_curl *curl, CURLM *multi) {
  int running;
  return curl->multi_perform(multi, &running) == CURLM_OK;
}

// Waits for a transfer or for `lockstep_multi_wake`. Returns 0 if it cannot wait.
static inline int lockstep_multi_wait(const lockstep_curl *curl, CURLM *multi) {
  return curl->multi_poll(multi, NULL, 0, 60000, NULL) == CURLM_OK;
}

// Ends this wait, or the next one. Other threads may make no other call.
static inline void lockstep_multi_wake(const lockstep_curl *curl, CURLM *multi) { curl->multi_wakeup(multi); }

static inline void lockstep_multi_free(const lockstep_curl *curl, CURLM *multi) { curl->multi_cleanup(multi); }

typedef struct lockstep_ending {
  lockstep_transfer *transfer;
  CURLcode code;
  long status;
  // The seconds of `Retry-After`, or 0.
  curl_off_t retry_after;
  // Whether there was no address that the transfer may connect to.
  int is_refused_address;
} lockstep_ending;

// Returns a transfer that has ended, or NULL if there is none. The caller must still remove it.
static inline lockstep_ending lockstep_multi_ended(const lockstep_curl *curl, CURLM *multi) {
  lockstep_ending ending = {0};
  int left;
  CURLMsg *message;
  while ((message = curl->multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    ending.code = message->data.result;
    curl->easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &ending.status);
    curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ending.transfer);
    curl->easy_getinfo(message->easy_handle, CURLINFO_RETRY_AFTER, &ending.retry_after);
    const lockstep_transfer *transfer = ending.transfer;
    if (ending.code == CURLE_OK && !transfer->has_head) ending.code = CURLE_GOT_NOTHING;
    if (ending.code == CURLE_WRITE_ERROR && transfer->is_cut) ending.code = CURLE_OK;
    if (ending.code == CURLE_ABORTED_BY_CALLBACK && transfer->is_accepted) ending.code = CURLE_OK;
    ending.is_refused_address = *transfer->refused_address && !transfer->has_permitted_address;
    break;
  }
  return ending;
}

// Copies libcurl's description of the failure, with its final zero byte.
static inline void lockstep_ending_text(const lockstep_curl *curl, lockstep_ending ending, char *text, size_t length) {
  const char *words = *ending.transfer->error ? ending.transfer->error : curl->easy_strerror(ending.code);
  const char *reply = ending.transfer->reply;
  if (ending.is_refused_address)
    snprintf(text, length, "%s is not a public address", ending.transfer->refused_address);
  else if (*reply && ending.code != CURLE_LOGIN_DENIED)
    snprintf(text, length, "%s; the relay responded: %s", words, reply);
  else
    snprintf(text, length, "%s", words);
}

#endif
