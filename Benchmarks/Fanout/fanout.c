// Waiting clients: long polls over epoll with one thread, for Lockstep and for nchan.
//
//   fanout all    SERVER PORT TOKENS CLIENTS WRITES        all clients wait for the same user
//   fanout spread SERVER PORT TOKENS CLIENTS WRITES RATE   one client per user; RATE writes a second to random users
//   fanout idle   SERVER PORT TOKENS CLIENTS               one client per user; prints "ready" and waits until stdin ends
//
// SERVER is lockstep or nchan. TOKENS is a file with one of Lockstep's tokens per line; for nchan
// only their number counts. "all" prints a line per write: milliseconds from the write's first byte
// to the first, the middle and the last response. "spread" prints p50, p99 and the maximum of the
// time from a write's due time to the response that contains it, and p50 and p99 of the time from the
// write's own response to that one. The writes of the first second are not measured: in it, the
// servers connect to their database and prepare their statements.
//
// PORT may be several ports, separated by commas: those of servers with the same store. The clients
// wait at all of them by turns, and each write goes to another server than the one where its user's
// client waits.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { INPUT = 8192, WRITERS = 16, PENDING = 16, SERVERS = 16 };

struct client {
  int descriptor, length, is_waiting, index, port;
  int number; // Of a writer's last write.
  const char *token;
  char cursor[128], modified[64], tag[64];
  char input[INPUT];
  long long answered;
  int pending_count;
  struct { int number; long long due; } pending[PENDING];
};

static int is_lockstep, ports[SERVERS], port_count, client_count, poller;
static struct client *clients, writers[WRITERS];
static char **tokens;

static void fail(const char *what) {
  fprintf(stderr, "fanout: %s: %s\n", what, strerror(errno));
  exit(70);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void open_connection(struct client *client) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(client->port)};
  // One address has too few ports for all connections to the server, so the clients use several.
  struct sockaddr_in own = {.sin_family = AF_INET};
  int one = 1;
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  own.sin_addr.s_addr = htonl(0x7f000001 + (client->index / 20000));
  client->descriptor = socket(AF_INET, SOCK_STREAM, 0);
  if (client->descriptor < 0) fail("socket");
  setsockopt(client->descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (bind(client->descriptor, (void *)&own, sizeof own)) fail("bind");
  if (connect(client->descriptor, (void *)&address, sizeof address)) fail("connect");
  fcntl(client->descriptor, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, client->descriptor, &event)) fail("epoll_ctl");
}

static void send_text(struct client *client, const char *text, int length) {
  client->is_waiting = 1;
  if (write(client->descriptor, text, length) != length) fail("write");
}

// Requests the changes after the client's cursor. A client without a cursor does not wait.
static void ask(struct client *client) {
  char text[1024];
  int length;
  if (is_lockstep && !*client->cursor)
    length = snprintf(text, sizeof text, "GET /v1/changes?since=now HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
                      client->token);
  else if (is_lockstep)
    length = snprintf(text, sizeof text,
                      "GET /v1/changes?since=%s&wait=300 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
                      client->cursor, client->token);
  else if (*client->tag)
    length = snprintf(text, sizeof text, "GET /sub/%s HTTP/1.1\r\nHost: localhost\r\nIf-Modified-Since: %s\r\nIf-None-Match: %s\r\n\r\n",
                      client->token, client->modified, client->tag);
  else
    length = snprintf(text, sizeof text, "GET /sub/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", client->token);
  send_text(client, text, length);
}

// Writes a value of 200 bytes that contains its number.
static void put(struct client *writer, const char *token, int number) {
  char text[1024], value[256];
  // Writing an existing value is no change, so the value also contains the run's id.
  static long long run_id;
  if (!run_id) run_id = now();
  int size = snprintf(value, sizeof value, "{\"n\":%d,\"run\":%lld,\"text\":\"", number, run_id);
  while (size < 198) value[size++] = 'x';
  memcpy(value + size, "\"}", 3);
  int length = is_lockstep
      ? snprintf(text, sizeof text, "PUT /v1/defaults/standard/fanout HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                 "Content-Type: application/json\r\nContent-Length: 200\r\n\r\n%s", token, value)
      : snprintf(text, sizeof text, "POST /pub/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 "Content-Length: 200\r\n\r\n%s", token, value);
  writer->number = number;
  send_text(writer, text, length);
}

// Copies the value of a header field of the response at the start of the input.
static void copy_field(struct client *client, const char *name, char *value, size_t size) {
  char *found = strcasestr(client->input, name);
  if (!found) return;
  found += strlen(name);
  size_t length = strcspn(found, "\r\n");
  if (length >= size) fail("a field is too long");
  memcpy(value, found, length);
  value[length] = 0;
}

// Reads available input. Returns the body if a response is complete.
static char *receive(struct client *client) {
  int count = read(client->descriptor, client->input + client->length, INPUT - 1 - client->length);
  if (count == 0) errno = ECONNRESET;
  if (count <= 0 && errno != EAGAIN) fail("read");
  if (count <= 0) return NULL;
  client->length += count;
  client->input[client->length] = 0;
  char *end = strstr(client->input, "\r\n\r\n"), *length = strcasestr(client->input, "\r\nContent-Length: ");
  if (!end) return NULL;
  int total = end + 4 - client->input + (length && length < end ? atoi(length + 18) : 0);
  if (total >= INPUT) fail("a response is too long");
  if (client->length < total) return NULL;
  if (client->input[9] != '2') {
    fprintf(stderr, "fanout: %.*s\n", client->length, client->input);
    exit(70);
  }
  client->length = 0;
  client->is_waiting = 0;
  client->answered = now();
  return end + 4;
}

// Stores the client's new position.
static void note_progress(struct client *client) {
  if (is_lockstep) return copy_field(client, "\r\nCursor: ", client->cursor, sizeof client->cursor);
  copy_field(client, "\r\nLast-Modified: ", client->modified, sizeof client->modified);
  copy_field(client, "\r\nEtag: ", client->tag, sizeof client->tag);
}

// Handles events until the deadline or, on request, until no client waits.
static void run(long long until, int until_nobody_waits, void (*answered)(struct client *, const char *)) {
  struct epoll_event events[512];
  int waiting = 0;
  for (int index = 0; index < client_count; index++) waiting += clients[index].is_waiting;
  for (int index = 0; index < WRITERS; index++) waiting += writers[index].is_waiting;
  while (!until_nobody_waits || waiting > 0) {
    long long rest = until - now();
    if (rest <= 0) {
      if (!until_nobody_waits) return;
      fprintf(stderr, "fanout: %d responses are missing\n", waiting);
      exit(70);
    }
    struct timespec timeout = {.tv_sec = rest / 1000000000, .tv_nsec = rest % 1000000000};
    int count = epoll_pwait2(poller, events, 512, &timeout, NULL);
    if (!until_nobody_waits && count == 0) return;
    for (int index = 0; index < count; index++) {
      struct client *client = events[index].data.ptr;
      char *body = receive(client);
      if (!body) continue;
      waiting--;
      answered(client, body);
    }
  }
}

static int is_writer(struct client *client) { return client >= writers && client < writers + WRITERS; }

static void keep_place(struct client *client, const char *body) {
  (void)body;
  if (!is_writer(client)) note_progress(client);
}

static int ascending(const void *left, const void *right) {
  long long difference = *(const long long *)left - *(const long long *)right;
  return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

// All clients send their request and wait.
static void park(void) {
  for (int index = 0; index < client_count; index++) {
    ask(&clients[index]);
    // In portions, so that the benchmark does not measure the server's backlog of input.
    if (index % 256 == 255) usleep(2000);
  }
  usleep(300000);
}

static void measure_all(int writes) {
  long long *times = calloc(client_count, sizeof *times);
  for (int number = 0; number < writes; number++) {
    park();
    long long start = now();
    put(&writers[0], clients[0].token, number);
    run(start + 30000000000LL, 1, keep_place);
    for (int index = 0; index < client_count; index++) times[index] = clients[index].answered - start;
    qsort(times, client_count, sizeof *times, ascending);
    printf("%.3f %.3f %.3f\n", times[0] / 1e6, times[client_count / 2] / 1e6, times[client_count - 1] / 1e6);
  }
}

static long long *delays, *acknowledged, *delivered;
static int delay_count;

static void note_delay(struct client *client, int index) {
  delays[delay_count++] = client->answered - client->pending[index].due;
  delivered[client->pending[index].number] = client->answered;
}

static void note_delivery(struct client *client, const char *body) {
  if (is_writer(client)) {
    acknowledged[client->number] = client->answered;
    return;
  }
  note_progress(client);
  for (int index = 0; index < client->pending_count; index++) {
    char text[32];
    snprintf(text, sizeof text, "\"n\":%d,", client->pending[index].number);
    if (!strstr(body, text)) continue;
    // A response contains all earlier writes too.
    for (int before = 0; before <= index; before++) note_delay(client, before);
    client->pending_count -= index + 1;
    memmove(client->pending, client->pending + index + 1, client->pending_count * sizeof *client->pending);
    break;
  }
  ask(client);
}

static void write_spread(int first, int end, int rate) {
  long long start = now() + 10000000;
  for (int number = first; number < end; number++) {
    long long due = start + (number - first) * (1000000000LL / rate);
    struct client *writer = NULL, *client = &clients[random() % client_count];
    // Two writes through different servers may be committed in any order, and the first one would never
    // be seen if it is replaced at once.
    while (port_count > 1 && client->pending_count) client = &clients[random() % client_count];
    while (now() < due || !writer) {
      long long left = due - now();
      run(now() + (left > 0 ? left : 1000000), 0, note_delivery);
      for (int index = 0; index < WRITERS && !writer; index++) {
        struct client *next = &writers[(number + index) % WRITERS];
        if (!next->is_waiting && (port_count == 1 || next->port != client->port)) writer = next;
      }
    }
    if (client->pending_count == PENDING) fail("too many writes of one user");
    client->pending[client->pending_count].number = number;
    client->pending[client->pending_count++].due = due;
    put(writer, client->token, number);
  }
  for (int turn = 0; turn < 1000 && delay_count < end; turn++) run(now() + 10000000, 0, note_delivery);
  if (delay_count < end) {
    fprintf(stderr, "fanout: %d of %d writes were not delivered\n", end - delay_count, end);
    exit(70);
  }
}

static void measure_spread(int writes, int rate) {
  int all = rate + writes;
  delays = calloc(all, sizeof *delays);
  acknowledged = calloc(all, sizeof *acknowledged);
  delivered = calloc(all, sizeof *delivered);
  park();
  srandom(1);
  write_spread(0, rate, rate);
  write_spread(rate, all, rate);
  delays += rate, acknowledged += rate, delivered += rate;
  delay_count -= rate;
  qsort(delays, delay_count, sizeof *delays, ascending);
  printf("%.3f %.3f %.3f", delays[delay_count / 2] / 1e6, delays[delay_count * 99 / 100] / 1e6,
         delays[delay_count - 1] / 1e6);
  // A waiting client may get its response before the writer gets its own.
  for (int number = 0; number < writes; number++) {
    long long delay = acknowledged[number] ? delivered[number] - acknowledged[number] : 0;
    delays[number] = delay > 0 ? delay : 0;
  }
  qsort(delays, writes, sizeof *delays, ascending);
  printf(" %.3f %.3f\n", delays[writes / 2] / 1e6, delays[writes * 99 / 100] / 1e6);
}

static void read_ports(const char *text) {
  for (; *text && port_count < SERVERS; text += strspn(text, ",")) {
    ports[port_count++] = atoi(text);
    text += strcspn(text, ",");
  }
}

static void read_tokens(const char *path, int count) {
  FILE *file = fopen(path, "r");
  if (!file) fail(path);
  tokens = calloc(count, sizeof *tokens);
  for (int index = 0; index < count; index++) {
    size_t size = 0;
    ssize_t length = getline(&tokens[index], &size, file);
    if (length <= 0) fail("there are fewer tokens than clients");
    tokens[index][strcspn(tokens[index], "\n")] = 0;
  }
  fclose(file);
}

int main(int count, char **arguments) {
  if (count < 6) return 64;
  const char *mode = arguments[1];
  int is_all = !strcmp(mode, "all");
  is_lockstep = !strcmp(arguments[2], "lockstep");
  read_ports(arguments[3]);
  client_count = atoi(arguments[5]);
  read_tokens(arguments[4], is_all ? 1 : client_count);
  poller = epoll_create1(0);
  clients = calloc(client_count, sizeof *clients);
  for (int index = 0; index < client_count; index++) {
    clients[index].index = index;
    clients[index].port = ports[index % port_count];
    clients[index].token = tokens[is_all ? 0 : index];
    open_connection(&clients[index]);
  }
  for (int index = 0; index < WRITERS; index++) {
    writers[index].port = ports[index % port_count];
    open_connection(&writers[index]);
  }
  if (is_lockstep) {
    for (int index = 0; index < client_count; index++) {
      ask(&clients[index]);
      if (index % 256 == 255) run(now() + 30000000000LL, 1, keep_place);
    }
    run(now() + 30000000000LL, 1, keep_place);
  }
  if (is_all) {
    measure_all(atoi(arguments[6]));
  } else if (!strcmp(mode, "spread")) {
    measure_spread(atoi(arguments[6]), atoi(arguments[7]));
  } else {
    park();
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {}
  }
  return 0;
}
