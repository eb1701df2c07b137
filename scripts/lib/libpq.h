// Statements, binary parameters and pipelines for the programs that use libpq.
//
// Integers that are no arrays are sent as text, like the server's. See
// Sources/LockstepPostgreSQL/Parameters.swift.
#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UUID = 2950, UUIDS = 2951, INT8S = 1016, TEXTS = 1009, BYTEAS = 1001, MOST_PARAMETERS = 12 };

struct parameter {
  Oid type; // 0: a text whose type follows from the statement
  char *bytes;
  int length, capacity;
};

struct statement {
  const char *name, *sql;
  int count;
  Oid types[MOST_PARAMETERS];
  struct parameter parameters[MOST_PARAMETERS];
};

static PGconn *connection;

static inline void fail(const char *what) {
  fprintf(stderr, "%s: %s", what, PQerrorMessage(connection));
  exit(70);
}

static inline void connect_to(const char *text) {
  connection = PQconnectdb(text);
  if (PQstatus(connection) != CONNECTION_OK) fail("libpq");
}

// Ends the program unless the result is a success.
static inline PGresult *check(PGresult *result) {
  ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN) return result;
  fprintf(stderr, "libpq: %s: %s\n", PQresStatus(status), PQresultErrorMessage(result));
  exit(70);
}

static inline void execute(const char *sql) { PQclear(check(PQexec(connection, sql))); }

static inline void append(struct parameter *to, const void *bytes, int length) {
  if (to->length + length > to->capacity) {
    to->capacity = 2 * (to->length + length) + 256;
    to->bytes = realloc(to->bytes, to->capacity);
  }
  memcpy(to->bytes + to->length, bytes, length);
  to->length += length;
}

static inline void append_int4(struct parameter *to, int32_t value) {
  uint32_t swapped = __builtin_bswap32(value);
  append(to, &swapped, 4);
}

// Begins an array. The number of its elements comes with the end.
static inline void begin_array(struct parameter *to, int type, int element_type, int count) {
  to->type = type;
  to->length = 0;
  append_int4(to, 1); // One dimension.
  append_int4(to, 0); // No element is NULL.
  append_int4(to, element_type);
  append_int4(to, count);
  append_int4(to, 1); // The index of the first element.
}

static inline void append_bytes(struct parameter *to, const void *bytes, int length) {
  append_int4(to, length);
  append(to, bytes, length);
}

static inline void append_int8(struct parameter *to, int64_t value) {
  uint64_t swapped = __builtin_bswap64(value);
  append_bytes(to, &swapped, 8);
}

static inline void set_text(struct parameter *to, const char *text) {
  to->type = to->length = 0;
  append(to, text, strlen(text) + 1);
}

static inline void set_uuid(struct parameter *to, const uint8_t *bytes) {
  to->type = UUID;
  to->length = 0;
  append(to, bytes, 16);
}

static inline int64_t int8_at(PGresult *result, int row, int column) {
  int64_t value;
  memcpy(&value, PQgetvalue(result, row, column), 8);
  return __builtin_bswap64(value);
}

static inline int32_t int4_at(PGresult *result, int row, int column) {
  int32_t value;
  memcpy(&value, PQgetvalue(result, row, column), 4);
  return __builtin_bswap32(value);
}

static inline void prepare(struct statement *statement) {
  PQclear(check(PQprepare(connection, statement->name, statement->sql, statement->count, statement->types)));
}

// Sends the statements in one round trip. The caller clears the results.
static inline void exchange(struct statement **statements, int count, PGresult **results) {
  for (int index = 0; index < count; index++) {
    struct statement *statement = statements[index];
    const char *values[MOST_PARAMETERS];
    int lengths[MOST_PARAMETERS], formats[MOST_PARAMETERS];
    for (int place = 0; place < statement->count; place++) {
      values[place] = statement->parameters[place].bytes;
      lengths[place] = statement->parameters[place].length;
      formats[place] = statement->parameters[place].type != 0;
    }
    if (!PQsendQueryPrepared(connection, statement->name, statement->count, values, lengths, formats, 1)) fail("send");
  }
  if (!PQpipelineSync(connection)) fail("send");
  for (int index = 0; index < count; index++) {
    results[index] = check(PQgetResult(connection));
    PQclear(PQgetResult(connection)); // A null pointer ends each statement's results.
  }
  PGresult *end = PQgetResult(connection);
  if (PQresultStatus(end) != PGRES_PIPELINE_SYNC) fail("the pipeline does not end");
  PQclear(end);
}
