// Measures libpq and PostgreSQL alone: one loop that sends the statements of a server's group commit
// (Sources/LockstepStore/PostgreSQL), with the same parameters, in the same two round trips. Each
// group sets a value of as many users as it has writes. The users are random ones of the store.
//
// usage: group-commit CONNECTION SECONDS WRITES_A_GROUP [USERS]
// prints: writes a second, and the 50th and 99th percentile of a group's time in microseconds
//
// The store must be one that populate-postgresql has filled. USERS: write only the first users.
#include "libpq.h"
#include <time.h>

enum { MOST_TIMES = 1 << 20 };

struct user {
  uint8_t id[16], session[16];
  int64_t number, written;
  int32_t era;
  long long group; // The last one that wrote this user.
  // The last 8 bytes of the id.
  int64_t lock;
};

// Keep the statements in step with HistoryTail.swift, PostgreSQLGroupCommit.swift, GroupWrites.swift
// and CommitNews.swift, and the settings with PostgreSQLConnector.swift.
static struct statement begin = {"begin", "BEGIN ISOLATION LEVEL READ COMMITTED"};
static struct statement lock_users = {
    "lock_users", "SELECT pg_advisory_xact_lock(l) FROM unnest($1::bigint[]) AS v (l)", 1, {INT8S}};
static struct statement read_heads = {
    "read_heads", "SELECT user_id, number, era, written FROM heads WHERE user_id = ANY($1::uuid[])", 1, {UUIDS}};
static struct statement read_missed = {
    "read_missed",
    "SELECT v.u, j.number, j.era, j.collection, j.mutations, j.written "
    "FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS v (u, n, e) "
    "CROSS JOIN LATERAL ( "
    "  SELECT number, position, era, collection, mutations, written FROM journal "
    "  WHERE user_id = v.u AND number >= v.n AND (number > v.n OR era <> v.e) ORDER BY number, position OFFSET 0 "
    ") AS j",
    3, {UUIDS, INT8S, INT8S}};
static struct statement read_sessions = {
    "read_sessions",
    "SELECT v.u, s.id FROM unnest($1::uuid[], $2::uuid[]) AS v (u, i) "
    "CROSS JOIN LATERAL (SELECT id FROM sessions WHERE user_id = v.u AND id = v.i OFFSET 0) AS s",
    2, {UUIDS, UUIDS}};
static struct statement put_into_maps = {
    "put_into_maps",
    "INSERT INTO map_values (user_id, collection, key, value, revision) "
    "SELECT u, c, k, convert_from(e, 'UTF8'), n "
    "FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::bigint[]) AS v (u, c, k, e, n) "
    "ON CONFLICT (user_id, collection, key) DO UPDATE SET value = excluded.value, revision = excluded.revision",
    5, {UUIDS, TEXTS, TEXTS, BYTEAS, INT8S}};
static struct statement insert_entries = {
    "insert_entries",
    "INSERT INTO journal "
    "  (user_id, number, position, era, written, place, collection, at, session_id, acted_by, action, mutations) "
    "SELECT u, n, p, e, w, (SELECT pg_current_xact_id()::text::bigint + journal_offset << 20 FROM store) + o - 1, "
    "  c, a, s, b, x, m "
    "FROM unnest( "
    "  $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::uuid[], "
    "  $9::text[], $10::text[], $11::text[] "
    ") WITH ORDINALITY AS v (u, n, p, e, w, c, a, s, b, x, m, o)",
    11, {UUIDS, INT8S, INT8S, INT8S, INT8S, TEXTS, INT8S, UUIDS, TEXTS, TEXTS, TEXTS}};
static struct statement update_heads = {
    "update_heads",
    "UPDATE heads AS h SET number = v.n, era = v.e, written = v.w "
    "FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) AS v (u, n, e, w) WHERE h.user_id = v.u",
    4, {UUIDS, INT8S, INT8S, INT8S}};
static struct statement insert_commit = {
    "insert_commit", "INSERT INTO commits (origin, users, numbers) VALUES ($1, $2, $3)", 3, {UUID, UUIDS, INT8S}};
static struct statement commit = {"commit", "COMMIT"};

static struct statement *reading[] = {&begin, &lock_users, &read_heads, &read_missed, &read_sessions};
static struct statement *writing[] = {&put_into_maps, &insert_entries, &update_heads, &insert_commit, &commit};

enum { READING = sizeof reading / sizeof *reading, WRITING = sizeof writing / sizeof *writing };

static const char *settings =
    "SET client_min_messages = warning; SET timezone = 'UTC'; SET bytea_output = hex; "
    "SET idle_in_transaction_session_timeout = '10s'; "
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off; "
    "SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; "
    "SET lock_timeout = '5s'; SET statement_timeout = '10s';";

static struct user *users;
static int user_count;
static uint8_t origin[16];
static int32_t era;

static long long now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int ascending(const void *left, const void *right) {
  long long a = *(const long long *)left, b = *(const long long *)right;
  return (a > b) - (a < b);
}

static int by_lock(const void *left, const void *right) {
  int64_t a = (*(struct user *const *)left)->lock, b = (*(struct user *const *)right)->lock;
  return (a > b) - (a < b);
}

static void load_users(int most) {
  char sql[300];
  sprintf(sql, "SELECT h.user_id, s.id, h.number, h.era, h.written FROM heads AS h JOIN sessions AS s USING (user_id) "
               "ORDER BY 1 LIMIT %d", most);
  PGresult *result = check(PQexecParams(connection, sql, 0, NULL, NULL, NULL, NULL, 1));
  user_count = PQntuples(result);
  users = calloc(user_count, sizeof *users);
  for (int row = 0; row < user_count; row++) {
    struct user *user = &users[row];
    memcpy(user->id, PQgetvalue(result, row, 0), 16);
    memcpy(user->session, PQgetvalue(result, row, 1), 16);
    for (int byte = 8; byte < 16; byte++) user->lock = (int64_t)((uint64_t)user->lock << 8 | user->id[byte]);
    user->number = int8_at(result, row, 2);
    user->era = int4_at(result, row, 3);
    user->written = int8_at(result, row, 4);
    user->group = -1;
  }
  PQclear(result);
}

static struct user *find_user(const char *id) {
  int low = 0, high = user_count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (memcmp(users[middle].id, id, 16) < 0) low = middle + 1;
    else high = middle;
  }
  return &users[low];
}

static struct user **choose(int writes, long long group) {
  static struct user **chosen;
  if (!chosen) chosen = calloc(writes, sizeof *chosen);
  for (int index = 0; index < writes;) {
    struct user *user = &users[random() % user_count];
    if (user->group == group) continue;
    user->group = group;
    chosen[index++] = user;
  }
  qsort(chosen, writes, sizeof *chosen, by_lock);
  return chosen;
}

// Fills an array parameter with a value of each user of the group.
#define FILL(target, array_type, element_type, append_value)        \
  do {                                                                 \
    struct parameter *to = &(target);                                  \
    begin_array(to, array_type, element_type, writes);                 \
    for (int index = 0; index < writes; index++) {                     \
      struct user *user = chosen[index];                               \
      (void)user;                                                      \
      append_value;                                                    \
    }                                                                  \
  } while (0)
#define FILL_UUIDS(target, field) FILL(target, UUIDS, UUID, append_bytes(to, user->field, 16))
#define FILL_INTEGERS(target, value) FILL(target, INT8S, 20, append_int8(to, value))
#define FILL_TEXTS(target, text) FILL(target, TEXTS, 25, append_bytes(to, text, strlen(text)))

static void clear(PGresult **results, int count) {
  for (int index = 0; index < count; index++) PQclear(results[index]);
}

// The first round trip: locks the users and reads what this loop lacks.
static void lock(struct user **chosen, int writes) {
  PGresult *results[READING];
  FILL_INTEGERS(lock_users.parameters[0], user->lock);
  FILL_UUIDS(read_heads.parameters[0], id);
  FILL_UUIDS(read_missed.parameters[0], id);
  FILL_INTEGERS(read_missed.parameters[1], user->number);
  FILL_INTEGERS(read_missed.parameters[2], user->era);
  FILL_UUIDS(read_sessions.parameters[0], id);
  FILL_UUIDS(read_sessions.parameters[1], session);
  exchange(reading, READING, results);
  if (PQntuples(results[2]) != writes || PQntuples(results[4]) != writes) {
    fprintf(stderr, "group-commit: a user or a session is missing\n");
    exit(70);
  }
  for (int row = 0; row < writes; row++) {
    struct user *user = find_user(PQgetvalue(results[2], row, 0));
    user->number = int8_at(results[2], row, 1);
    user->era = int4_at(results[2], row, 2);
    user->written = int8_at(results[2], row, 3);
  }
  clear(results, READING);
}

// The second round trip: writes and commits.
static void write_group(struct user **chosen, int writes, long long group) {
  static char (*values)[64], (*actions)[256], (*mutations)[256];
  if (!values) {
    values = calloc(writes, sizeof *values);
    actions = calloc(writes, sizeof *actions);
    mutations = calloc(writes, sizeof *mutations);
  }
  long long time = now(CLOCK_REALTIME) / 1000000;
  for (int index = 0; index < writes; index++) {
    struct user *user = chosen[index];
    sprintf(values[index], "{\"theme\":\"dark\",\"size\":%lld}", group * writes + index);
    sprintf(actions[index],
            "{\"type\":\"set\",\"payload\":{\"suite\":\"standard\",\"key\":\"appearance\",\"value\":%s}}",
            values[index]);
    sprintf(mutations[index], "[{\"type\":\"set\",\"payload\":{\"key\":\"appearance\",\"value\":%s}}]", values[index]);
    user->number += 1;
    user->era = era;
    user->written += strlen(actions[index]) + strlen(mutations[index]);
  }
  struct parameter *of = put_into_maps.parameters;
  FILL_UUIDS(of[0], id);
  FILL_TEXTS(of[1], "defaults/standard");
  FILL_TEXTS(of[2], "appearance");
  FILL(of[3], BYTEAS, 17, append_bytes(to, values[index], strlen(values[index])));
  FILL_INTEGERS(of[4], user->number << 20 | user->era);
  of = insert_entries.parameters;
  FILL_UUIDS(of[0], id);
  FILL_INTEGERS(of[1], user->number);
  FILL_INTEGERS(of[2], 0);
  FILL_INTEGERS(of[3], user->era);
  FILL_INTEGERS(of[4], user->written);
  FILL_TEXTS(of[5], "defaults/standard");
  FILL_INTEGERS(of[6], time);
  FILL_UUIDS(of[7], session);
  FILL(of[8], TEXTS, 25, append_int4(to, -1)); // NULL
  of[8].bytes[7] = 1;                          // The array contains NULL.
  FILL_TEXTS(of[9], actions[index]);
  FILL_TEXTS(of[10], mutations[index]);
  of = update_heads.parameters;
  FILL_UUIDS(of[0], id);
  FILL_INTEGERS(of[1], user->number);
  FILL_INTEGERS(of[2], user->era);
  FILL_INTEGERS(of[3], user->written);
  of = insert_commit.parameters;
  set_uuid(&of[0], origin);
  FILL_UUIDS(of[1], id);
  FILL_INTEGERS(of[2], user->number);
  PGresult *results[WRITING];
  exchange(writing, WRITING, results);
  clear(results, WRITING);
}

int main(int count, char **arguments) {
  if (count != 4 && count != 5) {
    fprintf(stderr, "usage: group-commit CONNECTION SECONDS WRITES_A_GROUP [USERS]\n");
    return 64;
  }
  long long seconds = atoll(arguments[2]), groups = 0;
  int writes = atoi(arguments[3]);
  connect_to(arguments[1]);
  execute(settings);
  load_users(count == 5 ? atoi(arguments[4]) : 1 << 30);
  if (writes < 1 || user_count < 2 * writes) {
    fprintf(stderr, "group-commit: the store has %d users, too few for groups of %d\n", user_count, writes);
    return 70;
  }
  srandom(now(CLOCK_REALTIME));
  for (int index = 0; index < 16; index++) origin[index] = random();
  era = random() & 0xfffff;
  for (int index = 0; index < READING; index++) prepare(reading[index]);
  for (int index = 0; index < WRITING; index++) prepare(writing[index]);
  if (!PQenterPipelineMode(connection)) fail("pipeline mode");

  long long *times = malloc(MOST_TIMES * sizeof *times);
  long long start = now(CLOCK_MONOTONIC), end = start + seconds * 1000000000LL, before = start;
  while (before < end && groups < MOST_TIMES) {
    struct user **chosen = choose(writes, groups);
    lock(chosen, writes);
    write_group(chosen, writes, groups);
    long long after = now(CLOCK_MONOTONIC);
    times[groups++] = after - before;
    before = after;
  }
  qsort(times, groups, sizeof *times, ascending);
  printf("%.0f %.0f %.0f\n", groups * writes / ((before - start) / 1e9), times[groups / 2] / 1e3,
         times[groups * 99 / 100] / 1e3);
  PQfinish(connection);
}
