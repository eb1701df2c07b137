"""Measures whether response times reveal who has an account. Run by scripts/bench.d/resets:

resets.py BINARY ADDRESSES
"""

import asyncio
import http.client
import json
import multiprocessing
import random
import statistics
import sys
import tempfile
import time

from lockstep_server import Server

# A group of addresses with an account, and two without.
GROUPS = ("known", "unknown", "control")
SENDING = 3.5  # A mail begins at most 3 s after its request.


async def discard_mails(reader, writer):
    """Takes mails from one connection, as a mail server does."""
    writer.write(b"220 localhost\r\n")
    in_text = False
    while line := await reader.readline():
        command = line[:4].upper()
        if in_text:
            in_text = line != b".\r\n"
            answer = None if in_text else b"250 OK\r\n"
        elif command == b"DATA":
            in_text, answer = True, b"354 go on\r\n"
        elif command == b"EHLO":
            answer = b"250-localhost\r\n250 SMTPUTF8\r\n"
        else:
            answer = b"221 bye\r\n" if command == b"QUIT" else b"250 OK\r\n"
        if answer:
            writer.write(answer)
            await writer.drain()
        if command == b"QUIT" and not in_text:
            break
    writer.close()


def run_relay(ports):
    async def run():
        relay = await asyncio.start_server(discard_mails, "127.0.0.1", 0)
        ports.put(relay.sockets[0].getsockname()[1])
        await relay.serve_forever()

    asyncio.run(run())


class Client:
    """One connection. Each request comes from another network."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.token = None
        self.networks = 0

    def send(self, method, path, body, token=None, expected=range(200, 300)):
        """Returns the time in milliseconds."""
        self.networks += 1
        network = f"10.{self.networks >> 16 & 255}.{self.networks >> 8 & 255}.{self.networks & 255}"
        fields = {"Content-Type": "application/json", "X-Forwarded-For": network}
        if token:
            fields["Authorization"] = f"Bearer {token}"
        start = time.perf_counter()
        self.connection.request(method, path, json.dumps(body), fields)
        response = self.connection.getresponse()
        self.response = response.read()
        took = (time.perf_counter() - start) * 1e3
        if response.status not in expected:
            sys.exit(f"{method} {path}: {response.status}: {self.response[:300]!r}")
        return took

    def sign_up(self, email):
        self.send("POST", "/v1/users", {"email": email, "password": "a long password"})
        return json.loads(self.response)["token"]

    def reset(self, email):
        return self.send("POST", "/v1/password-resets", {"email": email})

    def write(self):
        return self.send("PUT", "/v1/defaults/standard/time", time.perf_counter_ns(), self.token)


def ask_and_ask_again(client, email):
    yield "reset", client.reset(email)
    yield "next reset", client.reset(f"new{client.networks}@example.com")


def write_after_four(client, email):
    for _ in range(4):
        client.reset(email)
    yield "write", client.write()


def write_while_sending(client, email):
    client.reset(email)
    end = time.perf_counter() + SENDING
    slowest = 0
    while time.perf_counter() < end:
        slowest = max(slowest, client.write())
        time.sleep(0.002)
    yield "slowest write", slowest


def log_in(client, email):
    body = {"email": email, "password": "another password"}
    yield "login", client.send("POST", "/v1/sessions", body, expected=(401,))


def longer(some, others):
    """How often one of the first is longer than one of the others."""
    pairs = [(one > other) + (one == other) / 2 for one in some for other in others]
    return 100 * sum(pairs) / len(pairs)


def measure(client, count):
    times = {}
    for probe in (ask_and_ask_again, write_after_four, write_while_sending, log_in):
        # Each probe has its own addresses, because the server sends few mails to one address.
        addresses = [(group, f"{probe.__name__}-{group}{i}@example.com") for group in GROUPS for i in range(count)]
        for group, email in addresses:
            if group == "known":
                client.sign_up(email)
        random.shuffle(addresses)
        for group, email in addresses:
            for what, took in probe(client, email):
                times.setdefault(what, {}).setdefault(group, []).append(took)
            # The server queues at most 256 requests for mails.
            time.sleep(0.1)
    return times


def main(binary, count):
    ports = multiprocessing.Queue()
    relay = multiprocessing.Process(target=run_relay, args=(ports,), daemon=True)
    relay.start()
    options = ["--smtp", f"smtp://127.0.0.1:{ports.get()}", "--mail-from", "lockstep@example.com"]
    options += ["--public-url", "http://127.0.0.1", "--trusted-proxy", "127.0.0.1"]
    with tempfile.TemporaryDirectory() as folder, Server(binary, f"{folder}/lockstep.db", *options) as server:
        client = Client(server.port)
        client.token = client.sign_up("attacker@example.com")
        times = measure(client, count)
    relay.terminate()
    print(f"{count} addresses in each group")
    print()
    print("| time of | with account | without | longer with account | control |")
    print("|---|--:|--:|--:|--:|")
    for what, groups in times.items():
        known, unknown, control = (groups[group] for group in GROUPS)
        medians = f"{statistics.median(known):.2f} ms | {statistics.median(unknown + control):.2f} ms"
        print(f"| {what} | {medians} | {longer(known, unknown + control):.0f} % | {longer(unknown, control):.0f} % |")


main(sys.argv[1], int(sys.argv[2]))
