// Measures libsqlite3 alone: one loop with prepared statements, and a fixed number of writes in
// each transaction. Benchmarks/Writes does the same through the writer thread.
//
// usage: cloop FILE SECONDS WRITES_A_TRANSACTION
// prints: writes a second, and the 50th and 99th percentile of a transaction's time in microseconds
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static sqlite3 *database;

static void check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE) return;
  fprintf(stderr, "cloop: %s\n", sqlite3_errmsg(database));
  exit(70);
}

static void execute(const char *sql) { check(sqlite3_exec(database, sql, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL));
  return statement;
}

static void run(sqlite3_stmt *statement) {
  check(sqlite3_step(statement));
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int ascending(const void *left, const void *right) {
  long long a = *(const long long *)left, b = *(const long long *)right;
  return (a > b) - (a < b);
}

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: cloop FILE SECONDS WRITES_A_TRANSACTION\n");
    return 64;
  }
  long long seconds = atoll(arguments[2]);
  int writes = atoi(arguments[3]);
  check(sqlite3_open_v2(arguments[1], &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
  execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY");
  execute("CREATE TABLE defaults (user TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, revision INTEGER NOT NULL, "
          "PRIMARY KEY (user, key)) STRICT, WITHOUT ROWID;"
          "CREATE TABLE journal (user TEXT NOT NULL, revision INTEGER NOT NULL, at INTEGER NOT NULL, mutation TEXT NOT NULL, "
          "PRIMARY KEY (user, revision)) STRICT, WITHOUT ROWID;");
  sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
  sqlite3_stmt *upsert = prepare("INSERT INTO defaults VALUES (?, ?, ?, ?) ON CONFLICT (user, key) "
                                 "DO UPDATE SET value = excluded.value, revision = excluded.revision");
  sqlite3_stmt *append = prepare("INSERT INTO journal VALUES (?, ?, ?, ?)");

  long long capacity = 1 << 20, transactions = 0, start = now(), end = start + seconds * 1000000000LL, before = start;
  long long *times = malloc(capacity * sizeof *times);
  while (before < end && transactions < capacity) {
    run(begin);
    for (int writer = 0; writer < writes; writer++) {
      // Each writer uses 16 users of its own in turn.
      long long revision = transactions + 1;
      char user[64], value[64], mutation[128];
      int user_size = snprintf(user, sizeof user, "018f2f6e-7c00-7000-8000-%012lld", writer * 16 + revision % 16);
      int value_size = snprintf(value, sizeof value, "{\"theme\":\"dark\",\"size\":%lld}", revision);
      int mutation_size = snprintf(mutation, sizeof mutation, "{\"type\":\"set\",\"key\":\"appearance\",\"value\":%s}", value);
      sqlite3_bind_text64(upsert, 1, user, user_size, SQLITE_TRANSIENT, SQLITE_UTF8);
      sqlite3_bind_text64(upsert, 2, "appearance", 10, SQLITE_TRANSIENT, SQLITE_UTF8);
      sqlite3_bind_text64(upsert, 3, value, value_size, SQLITE_TRANSIENT, SQLITE_UTF8);
      sqlite3_bind_int64(upsert, 4, revision);
      run(upsert);
      sqlite3_bind_text64(append, 1, user, user_size, SQLITE_TRANSIENT, SQLITE_UTF8);
      sqlite3_bind_int64(append, 2, revision);
      sqlite3_bind_int64(append, 3, 1700000000000 + revision);
      sqlite3_bind_text64(append, 4, mutation, mutation_size, SQLITE_TRANSIENT, SQLITE_UTF8);
      run(append);
    }
    run(commit);
    long long after = now();
    times[transactions++] = after - before;
    before = after;
  }
  qsort(times, transactions, sizeof *times, ascending);
  printf("%.0f %.0f %.0f\n", transactions * writes / ((before - start) / 1e9), times[transactions / 2] / 1e3,
         times[transactions * 99 / 100] / 1e3);
}
