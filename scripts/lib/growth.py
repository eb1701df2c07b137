"""Measures how costs grow with the elements of a collection, or with the users of a store.

Run by scripts/bench.d/growth:

growth.py elements BINARY ROUNDS COUNT SIZE...
growth.py declared BINARY ROUNDS COUNT SIZE...
growth.py queries BINARY ROUNDS COUNT SIZE...
growth.py users BINARY ROUNDS COUNT SIZE... (in a folder that has the program populate)
"""

import json
import math
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from lockstep_server import Server

ROWS = 1_000_000_000

# The writes between a cursor and a later changeset: more than the number of past states in memory.
WRITES = 100

# The elements of each user of a store, how many of the users send requests, and how many then read
# once: more than fit in the server's memory, and few enough to take half a minute.
ELEMENTS = 20
ACTIVE = 100
READERS = 50_000


# The queries on a list, by name. Each request has another number, because the server sends its last
# response again to a request that arrives again. One in ten elements has the color "blue".
CONDITIONS = "where=data.color:eq:blue&where=data.rating:ge:0&where=title:prefix:A&where=addedAt:ge:2000"
QUERIES = {
    "one condition": "where=data.color:eq:blue&limit={}",
    "four conditions": CONDITIONS + "&limit={}",
    "sorted by a number": "sort=-data.rating&limit={}",
    "sorted by a number, first 20": "sort=-data.rating&where=data.rating:ge:-{}&limit=20",
    "sorted by a string": "sort=title&limit={}",
    "four conditions, sorted by two": CONDITIONS + "&sort=-data.rating,title&limit={}",
}


def costs(server, count, action, prepare=None):
    """The CPU time and the median time of an action, in µs. The CPU time is without that of
    `prepare`, whose result goes to the action."""
    times, used = [], -server.cpu()
    for number in range(count):
        arguments = [number]
        if prepare:
            used += server.cpu()
            arguments.append(prepare(number))
            used -= server.cpu()
        start = time.perf_counter()
        action(*arguments)
        times.append((time.perf_counter() - start) * 1e6)
    used += server.cpu()
    return used / count, statistics.median(times)


ADMINISTRATOR = "the-administrator-token-of-the-benchmark"


class List:
    name = "list"
    collection = "favorites"

    @staticmethod
    def prepare(server):
        pass

    @staticmethod
    def path(number):
        return f"/v1/favorites/photo:{number:06}"

    @staticmethod
    def body(text):
        return json.dumps({"title": f"A title {text}"})

    @staticmethod
    def fill(store, size):
        users = store.execute("SELECT user_id, collection, element, revision FROM list_elements").fetchall()
        rows = (
            (user, collection, f"photo:{number:06}", element.replace("000000", f"{number:06}"), number << 32, revision)
            for user, collection, element, revision in users
            for number in range(1, size)
        )
        store.executemany(
            "INSERT INTO list_elements (user_id, collection, id, element, rank, revision) VALUES (?,?,?,?,?,?)", rows
        )


class DeclaredList(List):
    name = "declared list"
    collection = "playlist"

    @staticmethod
    def prepare(server):
        declare(server, "playlist", {"type": ["object", "null"]})

    @staticmethod
    def path(number):
        return f"/v1/playlist/photo:{number:06}"


class Map:
    name = "map"
    collection = "defaults/standard"

    @staticmethod
    def prepare(server):
        pass

    @staticmethod
    def path(number):
        return f"/v1/defaults/standard/key{number:06}"

    @staticmethod
    def body(text):
        return json.dumps(f"a value {text}")

    @staticmethod
    def fill(store, size):
        users = store.execute("SELECT user_id, collection, revision FROM map_values").fetchall()
        rows = (
            (user, collection, f"key{number:06}", f'"a value {number:06}"', revision)
            for user, collection, revision in users
            for number in range(1, size)
        )
        store.executemany("INSERT INTO map_values (user_id, collection, key, value, revision) VALUES (?,?,?,?,?)", rows)


def measure_elements(binary, kind, size, count):
    """The costs with a collection of `size` elements."""
    options = [
        "--cache-mb", "4096", "--max-favorites", str(ROWS), "--max-favorites-bytes", "1GiB",
        "--max-default-keys", str(ROWS), "--max-suite-bytes", "1GiB", "--admin-token", ADMINISTRATOR,
    ]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "lockstep.db")
        with Server(binary, data, *options) as server:
            kind.prepare(server)
            tokens = []
            # The other users fill the caches. A list of a million elements has one user.
            for number in range(9 if size <= 100_000 else 1):
                account = json.dumps({"email": f"user{number}@example.com", "password": "a long password"})
                server.token = None
                server.token = json.loads(server.send("POST", "/v1/users", account)[1])["token"]
                server.send("PUT", kind.path(0), kind.body("first"))
                tokens.append(server.token)
        store = sqlite3.connect(data)
        with store:
            kind.fill(store, size)
        store.close()

        with Server(binary, data, *options) as server:
            # These reads also fill the caches of SQLite, one for each reader thread. The sessions
            # are in memory by then, so the threads share the reads.
            server.send_at_once("GET", "/v1/sessions", tokens[1:])
            server.send_at_once("GET", "/v1/changes", tokens[1:])
            server.token = tokens[0]
            server.send("GET", "/v1/sessions")
            before, counted = server.memory(), server.cache_bytes()
            start = time.perf_counter()
            server.send("PUT", kind.path(size // 2), kind.body("cold"))
            cold = (time.perf_counter() - start) * 1e6
            taken, counted = max(0, server.memory() - before) * 1024, server.cache_bytes() - counted
            whole = len(server.send("GET", f"/v1/changes?collections={kind.collection}")[1])

            def write(number):
                index = number * 7919 % size
                server.send("PUT", kind.path(index), kind.body(f"{number:06}"))

            def read(_number, _cursor):
                server.send("GET", f"/v1/changes?collections={kind.collection}")

            def changes(_number, cursor):
                server.send("GET", f"/v1/changes?since={cursor}&collections={kind.collection}")

            def write_after_cursor(number):
                cursor = server.send("GET", "/v1/changes?since=now")[0]["cursor"]
                write(number)
                return cursor

            def writes_after_cursor(number):
                cursor = write_after_cursor(number * WRITES)
                for step in range(1, WRITES):
                    write(number * WRITES + step)
                return cursor

            for number in range(20):
                write(number)
            result = {"first write, not in memory: µs": cold}
            result["write: CPU, µs"], result["write: p50, µs"] = costs(server, count, write)
            result["whole read after a write: CPU, µs"], _ = costs(server, count, read, write_after_cursor)
            result["changeset after a write: CPU, µs"], _ = costs(server, count, changes, write_after_cursor)
            result[f"changeset after {WRITES} writes: CPU, µs"], _ = costs(
                server, max(1, count // 10), changes, writes_after_cursor
            )
            result["JSON of an element, bytes"] = whole / size
            result["memory of an element, bytes"] = taken / size
            result["memory of an element as the cache counts it, bytes"] = counted / size
            return result


def declare(server, name, schema):
    """Declares a list without a narrow quota."""
    token, server.token = server.token, ADMINISTRATOR
    declaration = {"kind": "list", "schema": schema, "quota": {"elements": 10_000_000, "bytes": 2**30}}
    server.send("PUT", f"/v1/admin/collections/{name}", json.dumps(declaration))
    server.token = token


# The schema of the values that are written, and such a value.
SCHEMA = {
    "type": "object",
    "required": ["song"],
    "properties": {
        "song": {"type": "string", "maxLength": 200},
        "stars": {"type": "integer", "minimum": 1, "maximum": 5},
        "tags": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 20}},
    },
    "additionalProperties": False,
}
SIZE = 1_000


def measure_declared(binary, collections, count):
    """The costs with this many declared collections, and with one of 1,000 elements in use."""
    options = [
        "--cache-mb", "4096", "--max-favorites", str(ROWS), "--max-favorites-bytes", "1GiB",
        "--admin-token", ADMINISTRATOR,
    ]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "lockstep.db")
        with Server(binary, data, *options) as server:
            start = time.perf_counter()
            for number in range(1, collections):
                declare(server, f"collection{number}", SCHEMA)
            declare(server, "playlist", SCHEMA)
            result = {"a declaration: ms": (time.perf_counter() - start) * 1e3 / collections}

        def body(number):
            content = {"song": f"Clair de lune {number:06}", "stars": 1 + number % 5, "tags": ["piano", "1905"]}
            return json.dumps({"title": f"A title {number:06}", "data": content})

        with Server(binary, data, *options) as server:
            result["start, ms"] = server.start_time
            result["memory after the start, MiB"] = server.memory() / 1024
            account = json.dumps({"email": "user@example.com", "password": "a long password"})
            server.token = json.loads(server.send("POST", "/v1/users", account)[1])["token"]
            lists = ("favorites", "playlist")
            for name in lists:
                for number in range(SIZE):
                    server.send("PUT", f"/v1/{name}/{number}", body(number))

            def write_to(name):
                return lambda number: server.send("PUT", f"/v1/{name}/{number * 7919 % SIZE}", body(SIZE + number))

            measured = {name: ([], []) for name in lists}
            for turn in range(10):
                for name in lists if turn % 2 else reversed(lists):
                    action = write_to(name)
                    for values, value in zip(measured[name], costs(server, count, lambda number: action(turn * count + number))):
                        values.append(value)
            for name in lists:
                cpu, time_taken = (statistics.median(values) for values in measured[name])
                result[f"a write to {name}: CPU, µs"], result[f"a write to {name}: p50, µs"] = cpu, time_taken
            for kind in ("CPU", "p50"):
                ratio = result[f"a write to playlist: {kind}, µs"] / result[f"a write to favorites: {kind}, µs"]
                result[f"ratio of both, {kind}, %"] = ratio * 100
            server.send("GET", "/v1/changes")
            result["memory after the writes, MiB"] = server.memory() / 1024
            result["openapi.json, KiB"] = len(server.send("GET", "/openapi.json")[1]) / 1024
            start = time.perf_counter()
            declare(server, "another", SCHEMA)
            server.send("GET", "/openapi.json")
            result["a declaration and a new openapi.json: ms"] = (time.perf_counter() - start) * 1e3
            result["memory after two openapi.json, MiB"] = server.memory() / 1024
            return result


def measure_queries(binary, size, count):
    """The costs of queries on a list of `size` elements."""
    options = ["--cache-mb", "4096", "--max-favorites", str(ROWS), "--max-favorites-bytes", "1GiB"]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "lockstep.db")
        with Server(binary, data, *options) as server:
            account = json.dumps({"email": "user@example.com", "password": "a long password"})
            server.token = json.loads(server.send("POST", "/v1/users", account)[1])["token"]
            server.send("PUT", List.path(0), List.body("000000"))
            token = server.token
        store = sqlite3.connect(data)
        with store:
            List.fill(store, size)
            for number, (element,) in enumerate(store.execute("SELECT id FROM list_elements").fetchall()):
                content = {"color": "blue" if number % 10 == 0 else "red", "rating": number * 7919 % 1000, "tags": ["a", "b"]}
                content = json.dumps(content, separators=(",", ":"))
                store.execute(
                    """UPDATE list_elements SET element = replace(element, ',"addedAt"', ',"data":' || ? || ',"addedAt"')
                    WHERE id = ?""",
                    (content, element),
                )
        store.close()

        with Server(binary, data, *options) as server:
            server.token = token
            result = {"JSON of an element, bytes": len(server.send("GET", "/v1/favorites")[1]) / size}
            count = max(5, min(count, 2_000_000 // size))
            for label, query in QUERIES.items():

                def read(number):
                    server.send("GET", f"/v1/favorites?{query.format(1_000_000 - number)}")

                read(count)
                result[f"{label}: CPU, µs"], result[f"{label}: p50, µs"] = costs(server, count, read)
            return result


class Store:
    """A store with users in the current folder, and their tokens."""

    suite = "/v1/defaults/standard"

    def __init__(self, binary, users):
        self.data = os.path.abspath(f"{users}.db")
        with Server(binary, self.data):
            pass # The server creates the tables.
        with open("tokens", "w+") as file:
            subprocess.run(["./populate", self.data, str(users), str(ELEMENTS)], stdout=file, check=True)
            file.seek(0)
            self.tokens = file.read().split()

    def some_tokens(self, count):
        """The tokens of this many users, spread over the store, or of all if it has fewer."""
        count = min(count, len(self.tokens))
        return [self.tokens[number * len(self.tokens) // count] for number in range(count)]

    def size(self):
        return os.path.getsize(self.data)


def measure_users(binary, store, count):
    """The costs with a store, for some of its users."""
    users = store.some_tokens(ACTIVE)
    random.Random(ACTIVE).shuffle(users)
    first, readers, writers = users[:10], users[10:55], users[55:]

    with Server(binary, store.data) as server:

        def read_by(users):
            def action(number):
                server.token = users[number % len(users)]
                server.send("GET", store.suite)

            return action

        def write_by(users):
            def action(number):
                server.token = users[number % len(users)]
                server.send("PUT", f"{store.suite}/setting{number % ELEMENTS}", f'"value {time.monotonic_ns()}"')

            return action

        # The first requests of a server also prepare its statements.
        costs(server, len(first), read_by(first))
        costs(server, len(first), write_by(first))
        result = {"start, ms": server.start_time}
        for label, number, action in [
            ("read, not in memory", len(readers), read_by(readers)),
            ("write, not in memory", len(writers), write_by(writers)),
            ("read, in memory", count, read_by(users)),
            ("write, in memory", count, write_by(users)),
        ]:
            result[f"{label}: CPU, µs"], result[f"{label}: p50, µs"] = costs(server, number, action)
        result[f"memory after requests of {ACTIVE} users, MiB"] = server.memory() / 1024
        # The first reads also fill SQLite's caches, which have a fixed size.
        readers = store.some_tokens(READERS)
        server.read_in_batches(store.suite, readers[: len(readers) // 5])
        before, counted = server.memory() / 1024, server.cache_bytes() / 2**20
        server.read_in_batches(store.suite, readers[len(readers) // 5 :])
        result[f"memory after a read by each of {READERS:,} users, MiB"] = server.memory() / 1024
        result["growth of the memory by the last four fifths of them, MiB"] = server.memory() / 1024 - before
        result["this growth as the cache counts it, MiB"] = server.cache_bytes() / 2**20 - counted
        result["store, MB"] = store.size() / 1e6
        return result


def exponent(sizes, values):
    """The slope of the costs over the sizes on logarithmic scales: 0 is constant, 1 is linear."""
    points = [(math.log(size), math.log(value)) for size, value in zip(sizes, values) if value > 0]
    if len(points) < 2:
        return 0
    return statistics.linear_regression(*zip(*points)).slope


def print_table(label, measured):
    """Prints the medians of the results of each size."""
    sizes = list(measured)
    print(f"\n| {label} | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |")
    print("|---|" + "--:|" * (len(sizes) + 1))
    for cost in measured[sizes[0]][0]:
        values = [statistics.median(result[cost] for result in measured[size]) for size in sizes]
        cells = [f"{value:,.0f}" if value >= 100 else f"{value:.1f}" for value in values]
        print(f"| {cost} | " + " | ".join(cells) + f" | {exponent(sizes, values):.2f} |", flush=True)


def progress(text):
    print(f"==> {text}", file=sys.stderr, flush=True)


def in_rounds(rounds, sizes, label, measure):
    """The results of each size, measured in turns."""
    measured = {size: [] for size in sizes}
    for number in range(1, rounds + 1):
        for size in sizes:
            progress(f"Round {number} of {rounds}: {label.format(size)}")
            measured[size].append(measure(size))
    return measured


def elements(binary, rounds, count, sizes):
    for kind in (List, DeclaredList, Map):
        label = f"a {kind.name} of {{}}"
        measured = in_rounds(rounds, sizes, label, lambda size: measure_elements(binary, kind, size, count))
        print_table(f"{kind.name} of", measured)


def declared(binary, rounds, count, sizes):
    measured = in_rounds(rounds, sizes, "{} declared collections", lambda size: measure_declared(binary, size, count))
    print_table("declared collections", measured)


def queries(binary, rounds, count, sizes):
    measured = in_rounds(rounds, sizes, "queries on a list of {}", lambda size: measure_queries(binary, size, count))
    print_table("list of", measured)


def users(binary, rounds, count, sizes):
    stores = {}
    for size in sizes:
        progress(f"Making a store of {size} users")
        stores[size] = Store(binary, size)
    label = "a store of {} users"
    measured = in_rounds(rounds, sizes, label, lambda size: measure_users(binary, stores[size], count))
    print_table("users in the store", measured)


def main():
    # The server ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    kinds = {"elements": elements, "declared": declared, "queries": queries, "users": users}
    kind, binary, rounds, count, *sizes = sys.argv[1:]
    kinds[kind](binary, int(rounds), int(count), [int(size) for size in sizes])


main()
