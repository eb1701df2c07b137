// Fills a store in PostgreSQL with users for benchmarks, as populate.c does in SQLite.
//
// usage: populate-postgresql CONNECTION USERS VALUES
// prints: each user's token, one per line
//
// The database must have the tables that lockstep has made. No server may use it.
#include "libpq.h"
#include "tokens.h"
#include "values.h"

enum { USERS_AT_ONCE = 100000 };

static lockstep_bits256 find_key(void) {
  lockstep_bits256 key;
  PGresult *result = check(PQexecParams(connection, "SELECT key FROM token_key", 0, NULL, NULL, NULL, NULL, 1));
  if (PQntuples(result) != 1) {
    fprintf(stderr, "populate: the store has no key for tokens: start lockstep on it once\n");
    exit(70);
  }
  lockstep_load(key.words, (const uint8_t *)PQgetvalue(result, 0, 0), 4);
  PQclear(result);
  return key;
}

static int64_t number(const char *sql) {
  PGresult *result = check(PQexec(connection, sql));
  int64_t value = atoll(PQgetvalue(result, 0, 0));
  PQclear(result);
  return value;
}

// Names the columns, so that another column in the table is not an error.
static void begin_copy(const char *columns) {
  char sql[200];
  snprintf(sql, sizeof sql, "COPY %s FROM STDIN", columns);
  execute(sql);
}

static void copy(const char *row, int length) {
  if (PQputCopyData(connection, row, length) != 1) fail("COPY");
}

static void end_copy(void) {
  if (PQputCopyEnd(connection, NULL) != 1) fail("COPY");
  PQclear(check(PQgetResult(connection)));
  PQclear(PQgetResult(connection));
}

static void write_hash(char *text, const uint8_t *hash) {
  text += sprintf(text, "\\\\x");
  for (int index = 0; index < 32; index++) text += sprintf(text, "%02x", hash[index]);
}

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: populate-postgresql CONNECTION USERS VALUES\n");
    return 64;
  }
  int users = atoi(arguments[2]), values = atoi(arguments[3]);
  if (sodium_init() < 0) return 70;
  connect_to(arguments[1]);
  execute("SET synchronous_commit = off");
  lockstep_bits256 key = find_key();
  // The last uses are an hour ahead, so that no first request updates lastSeenAt, however long the
  // measurements take.
  long long now = number("SELECT (extract(epoch FROM now()) * 1000)::bigint");
  long long seen = now + 3600000, expiry = now + 7776000000;
  uint8_t(*hashes)[32] = malloc(USERS_AT_ONCE * sizeof *hashes);
  for (int first = 0; first < users; first += USERS_AT_ONCE) {
    int end = users - first > USERS_AT_ONCE ? first + USERS_AT_ONCE : users;
    char id[40], session[40], hash[80], row[600];
    execute("BEGIN");
#define COPY_USERS(columns, ...)                              \
  begin_copy(columns);                                        \
  for (int index = first; index < end; index++) {             \
    write_id(id, 0, index);                                   \
    write_id(session, 1, index);                              \
    write_hash(hash, hashes[index - first]);                  \
    copy(row, snprintf(row, sizeof row, __VA_ARGS__));        \
  }                                                           \
  end_copy();
    for (int index = first; index < end; index++) make_token(key, hashes[index - first]);
    COPY_USERS("users (id, email, email_key, password_version, password_changed_at, created_at)",
               "%s\t%s@example.com\t%s@example.com\t1\t0\t0\n", id, id, id)
    COPY_USERS("addresses (email_key, user_id)", "%s@example.com\t%s\n", id, id)
    COPY_USERS("sessions (user_id, id, token_hash, created_at, last_seen_at, expires_at)",
               "%s\t%s\t%s\t0\t%lld\t%lld\n", id, session, hash, seen, expiry)
    COPY_USERS("tokens (token_hash, user_id, session_id)", "%s\t%s\t%s\n", hash, id, session)
    COPY_USERS("heads (user_id, number, era, written)", "%s\t%d\t0\t0\n", id, values > 0)
    begin_copy("map_values (user_id, collection, key, value, revision)");
    for (int index = first; index < end; index++)
      for (int place = 0; place < values; place++) {
        char value[LONGEST_VALUE];
        write_id(id, 0, index);
        write_value(value, place, index);
        copy(row, snprintf(row, sizeof row, "%s\tdefaults/standard\tsetting%d\t%s\t%d\n", id, place, value, 1 << 20));
      }
    end_copy();
    if (values > 0) {
      long long place = number("SELECT (pg_current_xact_id()::text::bigint + journal_offset) << 20 FROM store") - first;
      begin_copy("journal (user_id, number, position, era, written, place, collection, at, action, mutations)");
      for (int index = first; index < end; index++) {
        write_id(id, 0, index);
        copy(row, snprintf(row, sizeof row, "%s\t1\t0\t0\t0\t%lld\tdefaults/standard\t%lld\t%s\t", id,
                           place + index, now, "{\"type\":\"mergePatch\",\"payload\":{}}"));
        const char *text = mutations(values, index);
        copy(text, strlen(text));
        copy("\n", 1);
      }
      end_copy();
    }
    execute("COMMIT");
  }
  execute("VACUUM ANALYZE");
  PQfinish(connection);
}
