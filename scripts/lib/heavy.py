"""Measures writes of a small user while users with long lists write. Run by scripts/bench.d/heavy:

heavy.py BINARY ROUNDS SECONDS USERS ELEMENTS CACHE_MB
"""

import glob
import json
import multiprocessing
import selectors
import signal
import socket
import statistics
import sys
import tempfile
import time

from lockstep_server import Server

BATCH = 500  # the most actions that a request may have
PAUSE = 0.002  # between two writes of the small user


def writer_time(server):
    """The CPU time of the writer thread so far, in µs."""
    for path in glob.glob(f"/proc/{server.process.pid}/task/*/comm"):
        with open(path) as file:
            if file.read().strip() == "writer":
                with open(path.replace("comm", "schedstat")) as times:
                    return int(times.read().split()[0]) / 1000
    sys.exit("the server has no thread named writer")


def sign_up(server, number):
    server.token = None
    account = json.dumps({"email": f"user{number}@example.com", "password": "a long password"})
    return json.loads(server.send("POST", "/v1/users", account)[1])["token"]


def fill(server, token, elements):
    """Gives a user a list of this many elements."""
    server.token = token
    for start in range(0, elements, BATCH):
        actions = [
            {
                "module": "favorites",
                "type": "add",
                "payload": {"id": f"photo:{number:06}", "title": f"A title of an element, number {number:06}"},
            }
            for number in range(start, min(start + BATCH, elements))
        ]
        server.send("POST", "/v1/actions", json.dumps({"actions": actions}))


def request(token, path, body):
    fields = f"Host: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(body)}"
    return f"PUT {path} HTTP/1.1\r\n{fields}\r\n\r\n{body}".encode()


def response_ends(data):
    """Whether the data is a whole response. Ends the program if the response is an error."""
    head, end, body = bytes(data).partition(b"\r\n\r\n")
    if not end:
        return False
    if int(head.split()[1]) >= 400:
        sys.exit(f"a write failed: {bytes(data)[:300]}")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
    return True


def write_all_the_time(port, tokens, elements, end, results):
    """Each user writes on a connection of its own, one request after the other."""
    selector, times = selectors.DefaultSelector(), []
    count = 0

    def send(connection):
        nonlocal count
        count += 1
        body = json.dumps({"title": f"Another title of an element, number {count}"})
        state = connection.state
        state["start"] = time.perf_counter()
        state["data"] = bytearray()
        connection.socket.sendall(request(state["token"], f"/v1/favorites/photo:{count * 7919 % elements:06}", body))

    class Connection:
        def __init__(self, token):
            self.socket = socket.create_connection(("127.0.0.1", port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.state = {"token": token}

    connections = [Connection(token) for token in tokens]
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        send(connection)
    while time.time() < end:
        for key, _ in selector.select(0.1):
            state = key.data.state
            state["data"] += key.data.socket.recv(1 << 16)
            if response_ends(state["data"]):
                times.append(time.perf_counter() - state["start"])
                send(key.data)
    results.put(("heavy", times))


def write_now_and_then(port, token, end, results):
    times = []
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    count = 0
    while time.time() < end:
        count += 1
        start, data = time.perf_counter(), bytearray()
        connection.sendall(request(token, f"/v1/defaults/standard/key{count % 10}", str(count)))
        while not response_ends(data):
            data += connection.recv(1 << 16)
        times.append(time.perf_counter() - start)
        time.sleep(PAUSE)
    results.put(("small", times))


def measure(binary, seconds, users, elements, cache):
    with tempfile.TemporaryDirectory() as folder:
        options = ["--cache-mb", str(cache), "--max-favorites", str(elements)]
        with Server(binary, f"{folder}/lockstep.db", *options) as server:
            tokens = [sign_up(server, number) for number in range(users + 1)]
            for token in tokens[1:]:
                fill(server, token, elements)
            results, end = multiprocessing.Queue(), time.time() + seconds
            port = server.socket.getpeername()[1]
            before, writer = server.cpu(), writer_time(server)
            clients = [multiprocessing.Process(target=write_now_and_then, args=(port, tokens[0], end, results))]
            if users:
                arguments = (port, tokens[1:], elements, end, results)
                clients.append(multiprocessing.Process(target=write_all_the_time, args=arguments))
            for client in clients:
                client.start()
            times = {"heavy": []} | dict(results.get(timeout=seconds + 60) for _ in clients)
            for client in clients:
                client.join()
            count = sum(map(len, times.values()))
            found = {
                "writes per second with long lists": len(times["heavy"]) / seconds,
                "CPU of a write, all threads: µs": (server.cpu() - before) / count,
                "CPU of a write, writer thread: µs": (writer_time(server) - writer) / count,
            }
            for kind, label in [("heavy", "long list"), ("small", "small user")]:
                ordered = sorted(times[kind]) or [0]
                for percent in (50, 99):
                    found[f"{label}: p{percent}, ms"] = ordered[len(ordered) * percent // 100] * 1000
            return found


def main():
    # The servers and clients end with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    binary = sys.argv[1]
    rounds, seconds, users, elements, cache = (int(text) for text in sys.argv[2:])
    measured = {0: [], users: []}
    for number in range(1, rounds + 1):
        for count, results in measured.items():
            print(f"==> Round {number} of {rounds}: {count} users with long lists", file=sys.stderr, flush=True)
            results.append(measure(binary, seconds, count, elements, cache))
    print(f"\n| users with {elements:,} elements | " + " | ".join(map(str, measured)) + " |")
    print("|---|" + "--:|" * len(measured))
    for name in measured[0][0]:
        values = [statistics.median(result[name] for result in results) for results in measured.values()]
        print(f"| {name} | " + " | ".join(f"{value:,.2f}" if value < 100 else f"{value:,.0f}" for value in values) + " |")


main()
