"""Counts instructions per request under callgrind. Run by scripts/bench.d/instructions."""

import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile


class Server:
    """A server under callgrind, and one connection to it."""

    def __init__(self, binary, folder):
        self.profile = os.path.join(folder, "callgrind.out")
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={self.profile}", binary, "serve",
            "--port", "0", "--threads", "1", "--data", os.path.join(folder, "lockstep.db"),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            found = re.search(r"listening on http://[^:]*:(\d+)", line)
            if found:
                break
        else:
            sys.exit(f"{binary} does not start under valgrind")
        self.socket = socket.create_connection(("127.0.0.1", int(found.group(1))))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.dumps = 0

    def send(self, request):
        """Sends a request; returns its status, header fields and body."""
        self.socket.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.receive()
        head, body = data.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        status = int(lines[0].split()[1])
        length = 0 if status in (204, 304) else int(fields.get("content-length", 0))
        while len(body) < length:
            body += self.receive()
        return status, fields, body

    def receive(self):
        piece = self.socket.recv(65536)
        if not piece:
            sys.exit("the server has closed the connection")
        return piece

    def control(self, option):
        subprocess.run(["callgrind_control", option, str(self.process.pid)], check=True, capture_output=True)

    def count(self, requests):
        """The instructions between the first and the last request, by all threads."""
        self.control("--zero")
        for request in requests:
            status, _, body = self.send(request)
            if status >= 400:
                sys.exit(f"unexpected response {status}: {body.decode(errors='replace')}")
        self.dumps += 1
        self.control("--dump")
        with open(f"{self.profile}.{self.dumps}", encoding="utf-8", errors="replace") as profile:
            return sum(int(line.split()[1]) for line in profile if line.startswith(("summary:", "totals:"))) // 2

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def request(method, path, token=None, body=None, fields=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    lines += fields
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body.encode())}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + (body or "")).encode()


def measure(binary, count, keep):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, folder)
        tokens = []
        for name in ("ada", "bob"):
            body = json.dumps({"email": f"{name}@example.com", "password": "a long password", "device": "bench"})
            tokens.append(json.loads(server.send(request("POST", "/v1/users", body=body))[2])["token"])
        for token in tokens:
            values = json.dumps({f"key{number}": "a value of some length" for number in range(5)})
            server.send(request("PATCH", "/v1/defaults/standard", token, values))
            for number in range(10):
                server.send(request("PUT", f"/v1/favorites/photo:{number}", token, '{"title":"A title"}'))
        suite = "/v1/defaults/standard"
        tag = server.send(request("GET", suite, tokens[0]))[1]["etag"]
        since = server.send(request("GET", "/v1/favorites", tokens[0]))[1]["cursor"]
        for number in range(10):
            server.send(request("PUT", f"/v1/favorites/photo:{number}", tokens[0], '{"title":"Another title"}'))
        kinds = {
            "health": lambda number: request("GET", "/healthz"),
            "repeated": lambda number: request("GET", suite, tokens[0]),
            "in turns": lambda number: request("GET", suite, tokens[number % 2]),
            "with ids": lambda number: request(
                "GET", suite, tokens[number % 2], fields=[f"X-Request-Id: request-{number:06}"]
            ),
            "304": lambda number: request("GET", suite, tokens[0], fields=[f"If-None-Match: {tag}"]),
            "query": lambda number: request(
                "GET", f"/v1/favorites?where=title:prefix:A&where=id:ne:{number}&sort=-title", tokens[0]
            ),
            "changes": lambda number: request("GET", f"/v1/changes?since={since}", tokens[0]),
            "default": lambda number: request("PUT", f"{suite}/key1", tokens[0], f'"value {number:06}"'),
            "favorite": lambda number: request(
                "PUT", "/v1/favorites/photo:1", tokens[0], f'{{"title":"A title {number:06}"}}'
            ),
        }
        counts = {}
        for kind, make in kinds.items():
            for number in range(20):
                server.send(make(count + number))
            counts[kind] = server.count([make(number) for number in range(count)]) / count
            if keep:
                name = f"{os.path.basename(binary)}-{kind.replace(' ', '-')}.out"
                os.replace(f"{server.profile}.{server.dumps}", os.path.join(keep, name))
        server.stop()
        return counts


def main():
    count, rounds, keep, binaries = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    os.makedirs(keep, exist_ok=True)
    measured = [[] for _ in binaries]
    for number in range(1, rounds + 1):
        for binary, results in zip(binaries, measured):
            print(f"==> Round {number} of {rounds}: {binary}", file=sys.stderr)
            results.append(measure(binary, count, keep))
    # The threads of a server wake up at other moments in each run, which changes a count by a few
    # hundred.
    results = [
        {kind: statistics.median(result[kind] for result in runs) for kind in runs[0]} for runs in measured
    ]
    print("| request | " + " | ".join(os.path.basename(binary) for binary in binaries) + " |")
    print("|---|" + "---:|" * len(binaries))
    for kind, first in results[0].items():
        cells = [f"{first:,.0f}"]
        for result in results[1:]:
            cells.append(f"{result[kind]:,.0f} ({(result[kind] / first - 1) * 100:+.1f} %)")
        print(f"| {kind} | " + " | ".join(cells) + " |")


main()
