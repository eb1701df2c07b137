// Sends mail by SMTP, with the transfers of curl_header.h.
#ifndef LOCKSTEP_CCURL_MAIL_H
#define LOCKSTEP_CCURL_MAIL_H

#include "curl_header.h"

static inline time_t lockstep_monotonic_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// Counts the bytes of a line of the mail server, and copies the line if it is a refusal.
static inline size_t lockstep_take_reply(char *bytes, size_t size, size_t count, void *transfer) {
  lockstep_transfer *into = (lockstep_transfer *)transfer;
  size_t length = size * count, kept = 0;
  // Later replies, such as that to `QUIT`, say nothing about the failure.
  int is_negative = length > 3 && (bytes[0] == '4' || bytes[0] == '5');
  for (size_t i = 0; is_negative && i < length && kept + 1 < sizeof into->reply; i++)
    if (bytes[i] >= ' ' && bytes[i] <= '~') into->reply[kept++] = bytes[i];
  if (is_negative) into->reply[kept] = 0;
  into->refused = is_negative ? lockstep_monotonic_seconds() : 0;
  into->has_head = 1;
  // The first reply after the last byte is that to the message, unless the client gave up: then it is
  // that to `QUIT`. The last line of a reply has a space after the code.
  if (into->mail_sent == into->mail_length && length > 3 && bytes[3] == ' ' && !into->has_final_reply) {
    into->has_final_reply = 1;
    into->is_accepted = bytes[0] == '2' && !into->is_given_up;
  }
  return lockstep_count_bytes(length, into);
}

// Passes the next bytes of a mail to libcurl.
static inline size_t lockstep_give_mail(char *bytes, size_t size, size_t count, void *transfer) {
  lockstep_transfer *from = (lockstep_transfer *)transfer;
  size_t length = from->mail_length - from->mail_sent;
  if (length > size * count) length = size * count;
  memcpy(bytes, from->mail + from->mail_sent, length);
  from->mail_sent += length;
  return length;
}

// libcurl waits for the reply to the message, and for that to `QUIT`, in loops of its own, and calls
// this at least once a second. So a cancelled mail ends soon, and no mail waits long for `QUIT`, which
// also follows a refusal.
static inline int lockstep_should_end_mail(void *transfer, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  lockstep_transfer *of = (lockstep_transfer *)transfer;
  (void)a, (void)b, (void)c, (void)d;
  if (of->is_accepted) return 1;
  time_t now = lockstep_monotonic_seconds();
  of->is_given_up = now > of->latest || (of->refused && now > of->refused + 5) || of->is_cancelled(of->request);
  return of->is_given_up;
}

typedef struct lockstep_envelope {
  const char *sender;
  const char *recipient;
  // NULL if the client does not log in.
  const char *user;
  const char *password;
  int requires_tls;
  // Of another thread or this one, while the transfer runs.
  lockstep_cancellation is_cancelled;
  const void *request;
} lockstep_envelope;

// Starts to send a mail by SMTP, like `lockstep_transfer_begin`. The request must outlive the transfer.
static inline lockstep_transfer *lockstep_mail_begin(const lockstep_curl *curl, CURLM *multi, const char *url,
                                                     lockstep_envelope envelope, const char *authorities,
                                                     const void *mail, size_t length, lockstep_bounds bounds) {
  lockstep_transfer *transfer = (lockstep_transfer *)calloc(1, sizeof *transfer);
  if (!transfer) return NULL;
  CURL *easy = transfer->easy = curl->easy_init();
  transfer->mail = (char *)malloc(length ? length : 1);
  int is_set = easy && transfer->mail && lockstep_add_field(curl, transfer, envelope.recipient);
  if (is_set) {
    memcpy(transfer->mail, mail, length);
    transfer->mail_length = length;
    transfer->is_cancelled = envelope.is_cancelled;
    transfer->request = envelope.request;
    transfer->latest = lockstep_monotonic_seconds() + bounds.total_milliseconds / 1000 + 1;
  }
  is_set = is_set && lockstep_set_common(curl, transfer, url, authorities, bounds);
#if LIBCURL_VERSION_NUM >= 0x075500
  LOCKSTEP_SET(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
#else
  LOCKSTEP_SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_SMTP | CURLPROTO_SMTPS));
#endif
  LOCKSTEP_SET(CURLOPT_USE_SSL, (long)(envelope.requires_tls ? CURLUSESSL_ALL : CURLUSESSL_NONE));
  if (envelope.user) {
    LOCKSTEP_SET(CURLOPT_USERNAME, envelope.user);
    LOCKSTEP_SET(CURLOPT_PASSWORD, envelope.password);
  }
  LOCKSTEP_SET(CURLOPT_MAIL_FROM, envelope.sender);
  LOCKSTEP_SET(CURLOPT_MAIL_RCPT, transfer->fields);
  // A relay closes idle connections, and the next mail on such a connection would fail.
  LOCKSTEP_SET(CURLOPT_FORBID_REUSE, 1L);
  LOCKSTEP_SET(CURLOPT_UPLOAD, 1L);
  LOCKSTEP_SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)length);
  LOCKSTEP_SET(CURLOPT_READFUNCTION, &lockstep_give_mail);
  LOCKSTEP_SET(CURLOPT_READDATA, transfer);
  LOCKSTEP_SET(CURLOPT_NOPROGRESS, 0L);
  LOCKSTEP_SET(CURLOPT_XFERINFOFUNCTION, &lockstep_should_end_mail);
  LOCKSTEP_SET(CURLOPT_XFERINFODATA, transfer);
  LOCKSTEP_SET(CURLOPT_WRITEFUNCTION, &lockstep_take_reply);
  LOCKSTEP_SET(CURLOPT_WRITEDATA, transfer);
  LOCKSTEP_SET(CURLOPT_HEADERFUNCTION, &lockstep_take_reply);
  if (is_set && curl->multi_add_handle(multi, easy) == CURLM_OK) return transfer;
  lockstep_transfer_free(curl, transfer);
  return NULL;
}

#endif
