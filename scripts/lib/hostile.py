"""Measures what a hostile client does to another user. Run by scripts/bench.d/hostile:

hostile.py BINARY ROUNDS SECONDS KEYS ATTACKS STORES [PSQL CONNECTION]

ATTACKS and STORES are separated by commas. PostgreSQL needs PSQL and the connection string of a
superuser: each measurement has a database of its own.
"""

import collections
import copy
import functools
import itertools
import json
import multiprocessing
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from lockstep_server import Server

# A network is one IPv4 address for the server, so these are three networks.
HOSTILE, VICTIM, HOME = "127.0.0.1", "127.0.0.2", "127.0.0.3"
ADMIN = "an-administrator-token-of-this-benchmark"
PASSWORD = "a long password"
ACCOUNTS = 20  # of the victim's network
BATCH = 500  # the most actions that a request may have
LONGEST = 120  # seconds that a client waits for a response
WARM_UP = 1  # seconds of an attack before the measurement
# The phases of an attack.
STARTING, MEASURED, STOPPED = range(3)


def request(method, path, token=None, body="", fields=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *fields]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


class Reader:
    """Reads responses of one connection. Keeps no bodies."""

    def __init__(self):
        self.data, self.status, self.missing = bytearray(), None, 0

    def take(self, piece):
        """The status of the response that the piece completes, or None."""
        if self.status is None:
            self.data += piece
            end = self.data.find(b"\r\n\r\n")
            if end < 0:
                return None
            head = bytes(self.data[:end]).lower()
            self.status = int(head.split(None, 2)[1])
            self.missing = end + 4 - len(self.data)
            place = head.find(b"\r\ncontent-length:")
            if place >= 0:
                self.missing += int(head[place + 17 :].split(None, 1)[0])
            self.data.clear()
        else:
            self.missing -= len(piece)
        if self.missing > 0:
            return None
        status, self.status = self.status, None
        return status


class Client:
    """One connection that sends one request after the other."""

    def __init__(self, port, network):
        self.port, self.network = port, network
        self.connect()

    def connect(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), LONGEST, (self.network, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = Reader()

    def send(self, data):
        """Returns the status, and the time in seconds. The status is "closed" without a response."""
        start, status = time.perf_counter(), None
        try:
            self.socket.sendall(data)
            while status is None:
                piece = self.socket.recv(1 << 18)
                if not piece:
                    raise ConnectionError
                status = self.reader.take(piece)
        except OSError:
            status = "closed"
        took = time.perf_counter() - start
        if status == "closed":
            self.connect()
        return status, took


def ask(server, network, method, path, token=None, body=""):
    """Sends a request from a network on a connection of its own; returns the JSON of the response."""
    with socket.create_connection(("127.0.0.1", server.port), LONGEST, (network, 0)) as connection:
        other = copy.copy(server)
        other.socket = connection
        connection.sendall(request(method, path, token, body))
        return json.loads(other.read_response(method, path)[1])


def anonymous_user(server, network=HOSTILE):
    return ask(server, network, "POST", "/v1/users", body='{"anonymous": true}')["token"]


# The attacks. Each one prepares its users, and returns the requests of each connection.


def kinds_of_nodes():
    node = {"$ref": "#/$defs/node"}
    kinds = [
        {
            "type": "object",
            "required": ["type", "content"],
            "properties": {"type": {"const": kind}, "content": {"type": "array", "items": node}},
            "additionalProperties": False,
        }
        for kind in ("section", "list", "quote", "note")
    ]
    return node | {"$defs": {"node": {"oneOf": kinds}}}


def batch(verb, payload):
    actions = [{"module": "pages", "type": verb, "payload": payload(number)} for number in range(BATCH)]
    return json.dumps({"actions": actions}, separators=(",", ":"))


def pages(server, text):
    """A user with 500 pages of seven levels each, and the request that adds or replaces them."""
    server.token = ADMIN
    declaration = {"kind": "list", "schema": kinds_of_nodes()}
    server.send("PUT", "/v1/admin/collections/pages", json.dumps(declaration))
    data = functools.reduce(lambda inner, _: {"type": "note", "content": [inner]}, range(6), {"type": "note", "content": []})
    return anonymous_user(server), lambda title: batch(
        "add", lambda number: {"id": f"p{number}", "title": f"{title}{number}", "data": data}
    )


def repeated(*requests):
    return lambda: itertools.cycle(requests)


def adds(server):
    token, add = pages(server, "a")
    requests = [request("POST", "/v1/actions", token, add(title)) for title in "ab"]
    return [repeated(*requests)] * 8


def titles(server):
    token, add = pages(server, "a")
    ask(server, HOSTILE, "POST", "/v1/actions", token, add("a"))
    bodies = [batch("update", lambda number: {"id": f"p{number}", "title": f"{title}{number}"}) for title in "bc"]
    return [repeated(*(request("POST", "/v1/actions", token, body) for body in bodies))] * 8


def patches(server, users):
    """Patches that copy a value of 14 KB until the element is larger than it may be."""
    element = json.dumps({"data": {"a": [[number, str(number)] for number in range(1000)]}})
    copies = [{"op": "copy", "from": "/data/a", "path": f"/data/k{number}"} for number in range(230)]
    patch = json.dumps(copies, separators=(",", ":"))
    tokens = [anonymous_user(server) for _ in range(users)]
    for token in tokens:
        ask(server, HOSTILE, "PUT", "/v1/favorites/a", token, element)
    field = "Content-Type: application/json-patch+json"
    requests = [request("PATCH", "/v1/favorites/a", token, patch, [field]) for token in tokens]
    return [repeated(requests[number % users]) for number in range(150)]


def sign_ups(server):
    def requests(connection):
        for number in itertools.count():
            account = {"email": f"stranger{connection}.{number}@example.com", "password": PASSWORD}
            yield request("POST", "/v1/users", body=json.dumps(account))

    return [functools.partial(requests, connection) for connection in range(100)]


def credentials(server):
    def requests(connection):
        account = json.dumps({"email": f"stranger{connection}@example.com", "password": PASSWORD})
        token = anonymous_user(server)
        return repeated(request("PUT", "/v1/me/credentials", token, account, ['If-Match: "another"']))

    return [requests(connection) for connection in range(100)]


def keyed(server, count):
    token, writers = anonymous_user(server), 16

    def requests(connection):
        for number in range(connection, count, writers):
            body = json.dumps(f"{number:06}" + "x" * 14_992)
            yield request("PUT", "/v1/defaults/standard/large", token, body, [f'Idempotency-Key: "write-{number}"'])

    return [functools.partial(requests, connection) for connection in range(writers)]


def reads(server):
    token = anonymous_user(server)
    ask(server, HOSTILE, "PUT", "/v1/defaults/standard/k", token, "1")
    return [repeated(request("GET", "/v1/defaults/standard/k", token))] * 150


def writes(server):
    token = anonymous_user(server)
    return [repeated(*(request("PUT", "/v1/defaults/standard/k", token, str(number)) for number in range(10)))] * 150


class Attack:
    def __init__(self, name, label, prepare, logs_in=False, ends=False):
        self.name, self.label, self.prepare = name, label, prepare
        self.logs_in = logs_in  # whether the victim's network also logs in all the time
        self.ends = ends  # whether the attack has a number of requests


def attacks(names, keys):
    return [
        attack
        for attack in [
            Attack("ordinary", "150 connections read a value", reads),
            Attack("ordinary", "150 connections write a value", writes),
            Attack("schema", "8 connections add 500 pages each time", adds),
            Attack("schema", "8 connections change 500 titles each time", titles),
            Attack("patch", "150 connections of one user send patches", lambda server: patches(server, 1)),
            Attack("patch", "150 users of a network send patches", lambda server: patches(server, 150)),
            Attack("passwords", "100 connections sign up", sign_ups, logs_in=True),
            Attack("passwords", "100 connections change credentials", credentials, logs_in=True),
            Attack("keys", f"{keys:,} writes with keys", lambda server: keyed(server, keys), ends=True),
        ]
        if attack.name in names
    ]


def run_attack(port, connections, phase, results):
    """Sends the requests of each connection, one after the other. Responses count while the phase is
    MEASURED. Ends when the requests are used up, or in the phase STOPPED."""
    selector, statuses = selectors.DefaultSelector(), collections.Counter()
    start = time.perf_counter()
    measured_at, cpu = None, 0

    class Connection:
        def __init__(self, requests):
            self.requests = requests()
            self.connect()

        def connect(self):
            self.socket = socket.create_connection(("127.0.0.1", port), LONGEST, (HOSTILE, 0))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.setblocking(False)
            self.reader = Reader()
            selector.register(self.socket, selectors.EVENT_READ, self)
            self.send()

        def close(self):
            selector.unregister(self.socket)
            self.socket.close()

        def send(self):
            data = next(self.requests, None)
            if data is None:
                self.close()
                return
            self.unsent = memoryview(data)
            self.write()

        def write(self):
            try:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
            except BlockingIOError:
                pass
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.unsent else 0)
            selector.modify(self.socket, events, self)

        def act(self, events):
            try:
                if events & selectors.EVENT_WRITE:
                    self.write()
                if events & selectors.EVENT_READ:
                    piece = self.socket.recv(1 << 18)
                    if not piece:
                        raise ConnectionError
                    status = self.reader.take(piece)
                    if status is not None:
                        self.count(status)
                        self.send()
            except BlockingIOError:
                pass
            except OSError:
                self.count("closed")
                self.close()
                self.connect()

        def count(self, status):
            if phase.value == MEASURED:
                statuses[status] += 1

    for requests in connections:
        Connection(requests)
    while selector.get_map() and phase.value != STOPPED:
        for key, events in selector.select(0.05):
            key.data.act(events)
        if measured_at is None and phase.value == MEASURED:
            measured_at, cpu = time.perf_counter(), time.process_time()
    end = time.perf_counter()
    measured_at = measured_at or start
    phase.value = STOPPED
    results.put({"statuses": statuses, "seconds": end - measured_at, "cpu": time.process_time() - cpu})


def log_in(port, accounts, phase, results):
    """The victim's network logs in with right passwords, one login after the other."""
    client, found = Client(port, VICTIM), []
    for number in itertools.count():
        if phase.value == STOPPED:
            break
        login = json.dumps({"email": accounts[number % len(accounts)], "password": PASSWORD})
        result = client.send(request("POST", "/v1/sessions", body=login))
        if phase.value != STARTING:
            found.append(result)
    results.put(found)


def watch_victim(port, token, is_over):
    """The victim writes a small value and reads it, again and again. Returns the rate of its writes,
    the times of both in seconds, and the statuses that are no success."""
    client, times, failures = Client(port, VICTIM), {"PUT": [], "GET": []}, collections.Counter()
    start = time.perf_counter()
    for number in itertools.count(1):
        for method, body in (("PUT", str(number)), ("GET", "")):
            status, took = client.send(request(method, "/v1/defaults/standard/k", token, body))
            times[method].append(took)
            if status not in (200, 201):
                failures[status] += 1
        if is_over(time.perf_counter() - start):
            break
    rate = len(times["PUT"]) / (time.perf_counter() - start)
    return {"rate": rate, "PUT": times["PUT"], "GET": times["GET"], "failures": failures}


def started(function, *arguments):
    """A process that ends with this program. It is forked, so it has the requests of an attack."""
    process = multiprocessing.Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


def watch(server, victim, accounts, seconds, attack=None, connections=()):
    """Measures the victim, alone or during an attack."""
    phase = multiprocessing.Value("i", STARTING, lock=False)
    attacked, logins = multiprocessing.Queue(), multiprocessing.Queue()
    processes = []
    if accounts:
        processes.append(started(log_in, server.port, accounts, phase, logins))
    ends = attack and attack.ends
    if ends:
        phase.value = MEASURED
    if attack:
        processes.append(started(run_attack, server.port, connections, phase, attacked))
    if not ends:
        time.sleep(WARM_UP if attack else 0.1)
        phase.value = MEASURED
    found = watch_victim(
        server.port, victim, lambda passed: phase.value == STOPPED if ends else passed >= seconds
    )
    phase.value = STOPPED
    if attack:
        found["attack"] = attacked.get(timeout=2 * LONGEST)
    if accounts:
        found["logins"] = logins.get(timeout=2 * LONGEST)
    for process in processes:
        process.join()
    return found


class Store:
    """An empty store in a file, or in a database of its own."""

    def __init__(self, kind, folder, psql=None, connection=None):
        self.kind, self.folder, self.psql, self.connection = kind, folder, psql, connection
        if kind == "postgresql":
            self.query("DROP DATABASE IF EXISTS hostile WITH (FORCE)")
            self.query("CREATE DATABASE hostile")

    def query(self, text):
        command = [self.psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname", self.connection]
        environment = os.environ | {"PGOPTIONS": "-c client_min_messages=warning"}
        options = {"check": True, "stdout": subprocess.PIPE, "text": True, "env": environment}
        return subprocess.run([*command, "--command", text], **options).stdout

    def serve(self, binary):
        # As many event loops as a server has by default.
        threads = os.cpu_count()
        if self.kind == "postgresql":
            place = self.connection.replace("dbname=postgres", "dbname=hostile")
            return Server(binary, None, store=place, threads=threads)
        return Server(binary, f"{self.folder}/lockstep.db", threads=threads)

    def size(self):
        """In MiB, when the server has ended."""
        if self.kind == "postgresql":
            return int(self.query("SELECT pg_database_size('hostile')")) / (1 << 20)
        return sum(os.path.getsize(f"{self.folder}/{name}") for name in os.listdir(self.folder)) / (1 << 20)


def measure(binary, kind, attack, seconds, place):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(kind, folder, *place)
        with store.serve(binary) as server:
            victim = anonymous_user(server, VICTIM)
            accounts = [f"user{number}@example.com" for number in range(ACCOUNTS if attack.logs_in else 0)]
            for email in accounts:
                account = json.dumps({"email": email, "password": PASSWORD})
                ask(server, HOME, "POST", "/v1/users", body=account)
            connections = attack.prepare(server)
            alone = watch(server, victim, accounts, seconds)
            attacked = watch(server, victim, accounts, seconds, attack, connections)
            if attack.ends:
                # The server's own connection may have been idle for too long.
                users = ask(server, HOSTILE, "GET", "/v1/admin/users", ADMIN)["items"]
                attacked["user"] = max(users, key=lambda user: user["bytes"])
            else:
                # Requests of the attack may still run for long.
                server.process.kill()
        if attack.ends:
            attacked["size"] = store.size()
        return alone, attacked


def listed(statuses):
    return ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items(), key=str)) or "none"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 10 else f"{value:,.2f}"


def total(found, key):
    return sum((result[key] for result in found), collections.Counter())


def victim_cells(found):
    """The rates and times of several measurements: medians of the medians, and the largest of all."""
    cells = [number(statistics.median(result["rate"] for result in found))]
    for method in ("PUT", "GET"):
        cells.append(number(statistics.median(statistics.median(result[method]) for result in found) * 1000))
        cells.append(number(max(max(result[method]) for result in found) * 1000))
    return cells + [listed(total(found, "failures"))]


def login_cells(found):
    logins = [login for result in found for login in result["logins"]]
    right = sum(1 for status, _ in logins if status in (200, 201))
    times = [took * 1000 for _, took in logins] or [0]
    others = collections.Counter(status for status, _ in logins if status not in (200, 201))
    return [f"{right:,} of {len(logins):,}", number(statistics.median(times)), number(max(times)), listed(others)]


def print_table(columns, rows):
    print("\n| " + " | ".join(columns) + " |")
    print("|---|---|" + "--:|" * (len(columns) - 2))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def print_victims(results):
    rows = []
    for kind in dict.fromkeys(kind for _, kind in results):
        found = [(attack, pairs) for (attack, other), pairs in results.items() if other == kind]
        for label, logs_in in (("none", False), ("none; logins of its network", True)):
            alone = [alone for attack, pairs in found if attack.logs_in == logs_in for alone, _ in pairs]
            if alone:
                rows.append([label, kind, *victim_cells(alone), "", "", "", ""])
        for attack, pairs in found:
            attacked = [attacked for _, attacked in pairs]
            ratio = statistics.median(attacked["rate"] / alone["rate"] for alone, attacked in pairs)
            attackers = [result["attack"] for result in attacked]
            rate = statistics.median(sum(one["statuses"].values()) / one["seconds"] for one in attackers)
            cpu = statistics.median(100 * one["cpu"] / one["seconds"] for one in attackers)
            cells = [f"{ratio:.2f} ×", number(rate), listed(total(attackers, "statuses")), f"{cpu:.0f}"]
            rows.append([attack.label, kind, *victim_cells(attacked), *cells])
    columns = ["attack", "store", "writes/s", "write: median, ms", "largest, ms", "read: median, ms", "largest, ms"]
    columns += ["failed", "writes/s; without attack", "attacker: requests/s", "its responses", "its CPU, % of a core"]
    print_table(columns, rows)


def print_logins(results):
    rows = []
    for (attack, kind), pairs in results.items():
        if attack.logs_in:
            rows.append(["none", kind, *login_cells([alone for alone, _ in pairs])])
            rows.append([attack.label, kind, *login_cells([attacked for _, attacked in pairs])])
    if rows:
        print_table(["attack", "store", "right logins", "median, ms", "largest, ms", "others"], rows)


def print_keys(results):
    rows = []
    for (attack, kind), pairs in results.items():
        if attack.ends:
            found = [attacked for _, attacked in pairs]
            users = [result["user"] for result in found]
            # Earlier versions of the server have no keyBytes.
            sizes = [
                f"{statistics.median(user[name] for user in users):,.0f}" if name in users[0] else "–"
                for name in ("bytes", "keyBytes")
            ]
            seconds = statistics.median(result["attack"]["seconds"] for result in found)
            store = statistics.median(result["size"] for result in found)
            rows.append([attack.label, kind, number(seconds), number(store), *sizes])
    if rows:
        print_table(["attack", "store", "s", "store, MiB", "the user's `bytes`", "`keyBytes`"], rows)


def main():
    # The servers and clients end with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    multiprocessing.set_start_method("fork")
    os.environ["LOCKSTEP_ADMIN_TOKEN"] = ADMIN
    binary, (rounds, seconds, keys) = sys.argv[1], map(int, sys.argv[2:5])
    names, stores, place = sys.argv[5].split(","), sys.argv[6].split(","), sys.argv[7:]
    results = {(attack, kind): [] for kind in stores for attack in attacks(names, keys)}
    for count in range(1, rounds + 1):
        for (attack, kind), pairs in results.items():
            print(f"==> Round {count} of {rounds}: {kind}: {attack.label}", file=sys.stderr, flush=True)
            pairs.append(measure(binary, kind, attack, seconds, place))
    print_victims(results)
    print_logins(results)
    print_keys(results)


main()
