"""A Lockstep server for benchmarks that are written in Python."""

import copy
import glob
import re
import signal
import socket
import subprocess
import sys
import time


class Server:
    """A server, and one connection to it. A `with` block ends the server.

    The store is the file `data`, or the PostgreSQL database of the connection string `store`.
    """

    def __init__(self, binary, data, *options, store=None, threads=1):
        place = ["--store", store] if store else ["--data", data]
        command = [binary, "serve", "--port", "0", "--threads", str(threads), *place, "--log-level", "warning", *options]
        start = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.start_time = (time.perf_counter() - start) * 1e3
        found = re.search(r"listening on http://[^:]*:(\d+)", line)
        if not found:
            sys.exit(f"{binary} does not start")
        self.port = int(found.group(1))
        self.token = None
        self.connect()

    def connect(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def send(self, method, path, body=None):
        """Sends a request; returns the fields and the body of its response."""
        self.send_request(method, path, body)
        return self.read_response(method, path)

    def send_at_once(self, method, path, tokens):
        """Sends a request for each token at the same time, on connections of their own."""
        others = []
        for token in tokens:
            other = copy.copy(self)
            other.token = token
            other.connect()
            other.send_request(method, path)
            others.append(other)
        for other in others:
            other.read_response(method, path)
            other.socket.close()

    def send_request(self, method, path, body=None):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n" + (body or "")).encode())

    def read_response(self, method, path):
        data = bytearray()
        while b"\r\n\r\n" not in data:
            data += self.receive()
        head, body = bytes(data).split(b"\r\n\r\n", 1)
        first, *lines = head.decode().split("\r\n")
        if int(first.split()[1]) >= 400:
            sys.exit(f"{method} {path}: {first}: {body.decode(errors='replace')[:300]}")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        pieces, missing = [body], int(fields.get("content-length", 0)) - len(body)
        while missing > 0:
            pieces.append(self.receive())
            missing -= len(pieces[-1])
        return fields, b"".join(pieces)

    def read_in_batches(self, path, tokens):
        """Reads a path with each of the tokens. Sends 64 requests at a time."""
        for place in range(0, len(tokens), 64):
            batch = tokens[place : place + 64]
            request = "GET {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n"
            self.socket.sendall("".join(request.format(path, token) for token in batch).encode())
            data, missing = bytearray(), len(batch)
            while missing > 0:
                data += self.receive()
                while (end := data.find(b"\r\n\r\n")) >= 0:
                    size = end + 4 + int(re.search(rb"content-length: (\d+)", data[:end].lower())[1])
                    if len(data) < size:
                        break
                    if not data.startswith(b"HTTP/1.1 200"):
                        sys.exit(f"GET {path}: {data[:300].decode(errors='replace')}")
                    del data[:size]
                    missing -= 1

    def receive(self):
        piece = self.socket.recv(1 << 20)
        if not piece:
            sys.exit("the server has closed the connection")
        return piece

    def cpu(self):
        """The CPU time of all threads so far, in µs."""
        total = 0
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat"):
            try:
                with open(path) as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass # The thread has ended.
        return total / 1000

    def memory(self):
        """The anonymous memory in KiB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1))

    def cache_bytes(self):
        """The memory in bytes that the server counts for states."""
        return int(re.search(rb"^lockstep_cache_bytes (\d+)", self.send("GET", "/metrics")[1], re.M).group(1))
