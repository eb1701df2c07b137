"""Measures how costs grow with the size of a collection. Run by scripts/bench.d/growth."""

import glob
import json
import math
import os
import re
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = 1_000_000_000


class Server:
    """A server, and one connection to it."""

    def __init__(self, binary, data):
        command = [
            binary, "serve", "--port", "0", "--threads", "1", "--data", data, "--log-level", "warning",
            "--cache-mb", "4096", "--max-favorites", str(ROWS), "--max-favorites-bytes", "1GiB",
            "--max-default-keys", str(ROWS), "--max-suite-bytes", "1GiB",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"listening on http://[^:]*:(\d+)", line)
        if not found:
            sys.exit(f"{binary} does not start")
        self.socket = socket.create_connection(("127.0.0.1", int(found.group(1))))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.token = None

    def send(self, method, path, body=None):
        """Sends a request; returns its fields and body."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n" + (body or "")).encode())
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

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class List:
    name = "list"
    collection = "favorites"

    @staticmethod
    def path(number):
        return f"/v1/favorites/photo:{number:06}"

    @staticmethod
    def body(text):
        return json.dumps({"title": f"A title {text}"})

    @staticmethod
    def fill(store, size):
        user, moment, revision = store.execute("SELECT user_id, added_at, revision FROM favorites").fetchone()
        rows = (
            (user, f"photo:{number:06}", f"A title {number:06}", moment, moment, number << 32, revision)
            for number in range(1, size)
        )
        store.executemany(
            "INSERT INTO favorites (user_id, id, title, added_at, updated_at, rank, revision) VALUES (?,?,?,?,?,?,?)", rows
        )


class Map:
    name = "map"
    collection = "defaults/standard"

    @staticmethod
    def path(number):
        return f"/v1/defaults/standard/key{number:06}"

    @staticmethod
    def body(text):
        return json.dumps(f"a value {text}")

    @staticmethod
    def fill(store, size):
        user, revision = store.execute("SELECT user_id, revision FROM defaults").fetchone()
        rows = ((user, "standard", f"key{number:06}", f'"a value {number:06}"', revision) for number in range(1, size))
        store.executemany("INSERT INTO defaults (user_id, suite, key, value, revision) VALUES (?,?,?,?,?)", rows)


def measure(binary, kind, size, count):
    """The costs with a collection of `size` elements."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "lockstep.db")
        server = Server(binary, data)
        account = json.dumps({"email": "ada@example.com", "password": "a long password"})
        token = json.loads(server.send("POST", "/v1/users", account)[1])["token"]
        server.token = token
        server.send("PUT", kind.path(0), kind.body("first"))
        server.stop()
        store = sqlite3.connect(data)
        with store:
            kind.fill(store, size)
        store.close()

        server = Server(binary, data)
        server.token = token
        server.send("GET", "/v1/sessions")
        before = server.memory()
        start = time.perf_counter()
        server.send("PUT", kind.path(size // 2), kind.body("cold"))
        cold = (time.perf_counter() - start) * 1e6
        taken = max(0, server.memory() - before) * 1024
        whole = len(server.send("GET", f"/v1/changes?collections={kind.collection}")[1])

        def each(action, prepare=lambda number: None):
            """The CPU time and the median time of an action, in µs."""
            times, spent = [], 0
            for number in range(count):
                prepared = prepare(number)
                used, start = server.cpu(), time.perf_counter()
                action(number, prepared)
                times.append((time.perf_counter() - start) * 1e6)
                spent += server.cpu() - used
            return spent / count, statistics.median(times)

        def write(number, _=None):
            index = number * 7919 % size
            return server.send("PUT", kind.path(index), kind.body(f"{number:06}"))[0]["cursor"]

        def read(number, _):
            server.send("GET", f"/v1/changes?collections={kind.collection}")

        def changes(number, cursor):
            server.send("GET", f"/v1/changes?since={cursor}&collections={kind.collection}")

        def after(number):
            cursor = server.send("GET", "/v1/changes?since=now")[0]["cursor"]
            write(number)
            return cursor

        for number in range(20):
            write(number)
        result = {"first write, not in memory: µs": cold}
        result["write: CPU, µs"], result["write: p50, µs"] = each(write)
        result["whole read after a write: CPU, µs"], _ = each(read, after)
        result["changeset after a write: CPU, µs"], _ = each(changes, after)
        result["JSON of an element, bytes"] = whole / size
        result["memory of an element, bytes"] = taken / size
        server.stop()
        return result


def exponent(sizes, values):
    """The slope of the costs over the sizes on logarithmic scales: 0 is constant, 1 is linear."""
    points = [(math.log(size), math.log(value)) for size, value in zip(sizes, values) if value > 0]
    if len(points) < 2:
        return 0
    return statistics.linear_regression(*zip(*points)).slope


def main():
    binary, rounds, count, sizes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), [int(size) for size in sys.argv[4:]]
    for kind in (List, Map):
        measured = {size: [] for size in sizes}
        for number in range(1, rounds + 1):
            for size in sizes:
                print(f"==> Round {number} of {rounds}: a {kind.name} of {size}", file=sys.stderr)
                measured[size].append(measure(binary, kind, size, count))
        print(f"\n| {kind.name} of | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |")
        print("|---|" + "--:|" * (len(sizes) + 1))
        for cost in measured[sizes[0]][0]:
            values = [statistics.median(result[cost] for result in measured[size]) for size in sizes]
            print(f"| {cost} | " + " | ".join(f"{value:,.0f}" for value in values) + f" | {exponent(sizes, values):.2f} |")


main()
