// A client for benchmarks, for tasks that bash and wrk cannot do. It uses loopback only.
//
//   probe free-port                        prints a free port
//   probe first-answer PORT PATH COMMAND…  starts COMMAND, sends requests until one gets 200, prints the milliseconds
//                                          since the start, and ends COMMAND
//   probe hold PORT PATH COUNT             opens COUNT connections, sends a request on each, prints a line when all
//                                          have a response, and keeps them open until its input ends
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

static struct sockaddr_in loopback(int number, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + number);
  return address;
}

static int new_socket(void) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) err(1, "socket");
  return fd;
}

// Connects from 127.0.0.(1 + number). One address has ports for about 28,000 connections to the
// same server.
static int connect_from(int number, int port) {
  int fd = new_socket(), on = 1;
  struct sockaddr_in from = loopback(number, 0), to = loopback(0, port);
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&from, sizeof from)) err(1, "bind");
  if (connect(fd, (struct sockaddr *)&to, sizeof to)) {
    close(fd);
    return -1;
  }
  return fd;
}

static void ask(int fd, const char *path) {
  char request[1024];
  int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
  if (write(fd, request, length) != length) err(1, "write");
}

// Whether the response's status is 200. Responses to the benchmarks' requests are small and arrive
// in one piece.
static int is_answered(int fd) {
  char answer[16384];
  ssize_t count = read(fd, answer, sizeof answer);
  return count > 12 && memcmp(answer, "HTTP/1.1 200", 12) == 0;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void free_port(void) {
  struct sockaddr_in address = loopback(0, 0);
  socklen_t size = sizeof address;
  int fd = new_socket();
  if (bind(fd, (struct sockaddr *)&address, size) || getsockname(fd, (struct sockaddr *)&address, &size)) err(1, "bind");
  printf("%d\n", ntohs(address.sin_port));
}

static void first_answer(int port, const char *path, char **command) {
  double start = milliseconds();
  pid_t child = fork();
  if (child < 0) err(1, "fork");
  if (child == 0) {
    // The command's output must not mix with the result.
    if (!freopen("/dev/null", "w", stdout)) err(1, "/dev/null");
    execv(command[0], command);
    err(127, "%s", command[0]);
  }
  int is_up = 0;
  while (!is_up && milliseconds() - start < 10000) {
    if (waitpid(child, NULL, WNOHANG) == child) errx(1, "%s ended before it responded", command[0]);
    int fd = connect_from(0, port);
    if (fd < 0) {
      usleep(100);
      continue;
    }
    ask(fd, path);
    is_up = is_answered(fd);
    close(fd);
  }
  double took = milliseconds() - start;
  kill(child, SIGTERM);
  waitpid(child, NULL, 0);
  if (!is_up) errx(1, "%s did not respond within 10 s", command[0]);
  printf("%.2f\n", took);
}

static void hold(int port, const char *path, int count) {
  for (int index = 0; index < count; index++) {
    int fd = connect_from(index / 20000, port);
    if (fd < 0) err(1, "connection %d", index + 1);
    ask(fd, path);
    if (!is_answered(fd)) errx(1, "connection %d got no 200", index + 1);
  }
  printf("%d\n", count);
  fflush(stdout);
  while (getchar() != EOF) {}
}

int main(int count, char **words) {
  if (count == 2 && !strcmp(words[1], "free-port")) free_port();
  else if (count > 4 && !strcmp(words[1], "first-answer")) first_answer(atoi(words[2]), words[3], words + 4);
  else if (count == 5 && !strcmp(words[1], "hold")) hold(atoi(words[2]), words[3], atoi(words[4]));
  else errx(64, "see the usage at the top of probe.c");
}
