// Fills a store with users for benchmarks. Each user has a session, values in defaults/standard,
// and a journal entry for them. The users have no password, because hashing so many would take
// hours.
//
// usage: populate STORE USERS VALUES
// prints: each user's token, one per line
//
// The store must be one that lockstep has made, and no process may have it open.
#include "tokens.h"
#include "values.h"
#include <sqlite3.h>

static sqlite3 *database;

static void check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  fprintf(stderr, "populate: %s\n", sqlite3_errmsg(database));
  exit(70);
}

static void execute(const char *sql) { check(sqlite3_exec(database, sql, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  check(sqlite3_prepare_v2(database, sql, -1, &statement, NULL));
  return statement;
}

static void run(sqlite3_stmt *statement) {
  check(sqlite3_step(statement));
  check(sqlite3_reset(statement));
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text) {
  check(sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT));
}

static lockstep_bits256 find_key(void) {
  lockstep_bits256 key;
  sqlite3_stmt *statement = prepare("SELECT key FROM token_key");
  if (sqlite3_step(statement) != SQLITE_ROW) {
    fprintf(stderr, "populate: the store has no key for tokens: start lockstep on it once\n");
    exit(70);
  }
  lockstep_load(key.words, sqlite3_column_blob(statement, 0), 4);
  sqlite3_finalize(statement);
  return key;
}

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: populate STORE USERS VALUES\n");
    return 64;
  }
  int users = atoi(arguments[2]), values = atoi(arguments[3]);
  if (sodium_init() < 0) return 70;
  check(sqlite3_open_v2(arguments[1], &database, SQLITE_OPEN_READWRITE, NULL));
  // Without the write-ahead log, each page is written once. The store is of no use after a failure.
  execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN");
  lockstep_bits256 key = find_key();
  sqlite3_stmt *user = prepare("INSERT INTO users "
                               "(id, email, email_key, password_version, password_changed_at, created_at) "
                               "VALUES (?1, ?1 || '@example.com', ?1 || '@example.com', 1, 0, 0)");
  // The last uses are an hour ahead, so that no first request updates lastSeenAt, however long the
  // measurements take.
  sqlite3_stmt *session = prepare("INSERT INTO sessions (user_id, id, token_hash, created_at, last_seen_at, expires_at) "
                                  "VALUES (?, ?, ?, 0, unixepoch() * 1000 + 3600000, unixepoch() * 1000 + 7776000000)");
  sqlite3_stmt *value = prepare("INSERT INTO map_values (user_id, collection, key, value, revision) "
                                "VALUES (?, 'defaults/standard', ?, ?, 1 << 20)");
  sqlite3_stmt *entry = prepare("INSERT INTO journal "
                                "(user_id, revision, position, written, collection, at, action, mutations) "
                                "SELECT ?1, 1 << 20, 0, length(CAST(action || ?2 AS BLOB)), 'defaults/standard', "
                                "unixepoch() * 1000, action, ?2 "
                                "FROM (SELECT '{\"type\":\"mergePatch\",\"payload\":{}}' AS action)");
  for (int number = 0; number < users; number++) {
    char id[40], session_id[40];
    uint8_t hash[32];
    write_id(id, 0, number);
    write_id(session_id, 1, number);
    make_token(key, hash);
    bind_text(user, 1, id);
    run(user);
    bind_text(session, 1, id);
    bind_text(session, 2, session_id);
    check(sqlite3_bind_blob(session, 3, hash, sizeof hash, SQLITE_TRANSIENT));
    run(session);
    for (int place = 0; place < values; place++) {
      char name[32], text[LONGEST_VALUE];
      sprintf(name, "setting%d", place);
      write_value(text, place, number);
      bind_text(value, 1, id);
      bind_text(value, 2, name);
      bind_text(value, 3, text);
      run(value);
    }
    if (values == 0) continue;
    bind_text(entry, 1, id);
    bind_text(entry, 2, mutations(values, number));
    run(entry);
  }
  execute("COMMIT; PRAGMA journal_mode = WAL");
}
