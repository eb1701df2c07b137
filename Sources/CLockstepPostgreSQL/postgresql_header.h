// libpq, loaded at run time and never linked. A server with its store in SQLite does not need libpq
// and the libraries of OpenSSL, Kerberos and LDAP that libpq depends on.
#ifndef LOCKSTEP_CPOSTGRESQL_H
#define LOCKSTEP_CPOSTGRESQL_H

#include <dlfcn.h>
#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define LOCKSTEP_LIBPQ_FUNCTIONS(USE)                                                              \
  USE(conninfoParse) USE(conninfo) USE(conninfoFree) USE(connectStartParams) USE(connectPoll)      \
  USE(finish) USE(status) USE(socket) USE(errorMessage) USE(setErrorVerbosity)                     \
  USE(setNoticeReceiver) USE(setnonblocking) USE(serverVersion) USE(parameterStatus) USE(host)     \
  USE(hostaddr) USE(port) USE(db) USE(user) USE(backendPID) USE(transactionStatus)                 \
  USE(enterPipelineMode) USE(exitPipelineMode) USE(pipelineSync) USE(sendQuery)                    \
  USE(sendQueryParams) USE(sendPrepare) USE(sendQueryPrepared) USE(flush) USE(consumeInput)        \
  USE(isBusy) USE(getResult) USE(notifies) USE(freemem)                                            \
  USE(resultStatus) USE(resultErrorField) USE(resultErrorMessage) USE(ntuples) USE(nfields)        \
  USE(fname) USE(ftype) USE(getvalue) USE(getlength) USE(getisnull) USE(cmdTuples) USE(clear)

// The functions of the library, with their types from its header and without their prefix PQ.
typedef struct lockstep_libpq {
#define LOCKSTEP_MEMBER(name) __typeof__(PQ##name) *name;
  LOCKSTEP_LIBPQ_FUNCTIONS(LOCKSTEP_MEMBER)
#undef LOCKSTEP_MEMBER
} lockstep_libpq;

// The fields of an error that the server reports. Swift does not import macros of characters.
enum lockstep_error_field {
  lockstep_error_severity = PG_DIAG_SEVERITY_NONLOCALIZED,
  lockstep_error_translated_severity = PG_DIAG_SEVERITY,
  lockstep_error_sqlstate = PG_DIAG_SQLSTATE,
  lockstep_error_message = PG_DIAG_MESSAGE_PRIMARY,
  lockstep_error_detail = PG_DIAG_MESSAGE_DETAIL,
  lockstep_error_hint = PG_DIAG_MESSAGE_HINT,
  lockstep_error_constraint = PG_DIAG_CONSTRAINT_NAME
};

static inline int lockstep_libpq_find(void *library, const char *name, void *place, char *error, size_t length) {
  void *symbol = dlsym(library, name);
  // POSIX allows a data pointer from dlsym to be used as a function pointer.
  memcpy(place, &symbol, sizeof symbol);
  if (!symbol) snprintf(error, length, "it has no %s", name);
  return symbol != NULL;
}

// Loads the library for the life of the process. Returns 0 and a reason, or 1 and the functions.
static inline int lockstep_libpq_load(const char *file, lockstep_libpq *libpq, char *error, size_t length) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(error, length, "%s", reason ? reason : "it cannot be loaded");
    return 0;
  }
  int found = 1;
#define LOCKSTEP_FIND(name) found = found && lockstep_libpq_find(library, "PQ" #name, &libpq->name, error, length);
  LOCKSTEP_LIBPQ_FUNCTIONS(LOCKSTEP_FIND)
#undef LOCKSTEP_FIND
  return found;
}

// Makes an eventfd that a read resets, and on which neither reads nor writes wait.
static inline int lockstep_event_make(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

#endif
