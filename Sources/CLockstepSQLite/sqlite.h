// libsqlite3, with the calls that Swift cannot make: macros that cast, and variadic functions.
#ifndef LOCKSTEP_CSQLITE_H
#define LOCKSTEP_CSQLITE_H

#include <sqlite3.h>

// SQLite copies the bytes before it returns. With no bytes, the text is empty and not NULL.
static inline int lockstep_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

// SQLite copies the bytes before it returns. With no bytes, the blob is empty and not NULL.
static inline int lockstep_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
  return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// Turns one of the SQLITE_DBCONFIG_… options on or off. `now` receives the new value.
static inline int lockstep_sqlite_switch(sqlite3 *database, int option, int on, int *now) {
  return sqlite3_db_config(database, option, on, now);
}

// Sets one of the SQLITE_CONFIG_… options that take a number, for the whole process.
static inline int lockstep_sqlite_configure(int option, int value) {
  return sqlite3_config(option, value);
}

#endif
