"""Counts instructions per request under callgrind. Run by scripts/bench.d/instructions."""

import base64
import http.server
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Issuer:
    """An issuer that signs tokens by RS256 and publishes its key on loopback."""

    def __init__(self, folder):
        self.key = os.path.join(folder, "key.pem")
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, capture_output=True)
        number = bytes.fromhex(modulus.stdout.decode().strip().removeprefix("Modulus="))
        keys = {"keys": [{"kty": "RSA", "kid": "1", "alg": "RS256", "n": base64url(number), "e": "AQAB"}]}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(keys).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, subject):
        now = int(time.time())
        claims = {"iss": self.url, "aud": "app", "sub": subject, "iat": now, "exp": now + 86_400, "name": "Ada " * 100}
        parts = [{"alg": "RS256", "kid": "1", "typ": "JWT"}, claims]
        text = ".".join(base64url(json.dumps(part).encode()) for part in parts)
        command = ["openssl", "dgst", "-sha256", "-sign", self.key]
        signed = subprocess.run(command, input=text.encode(), check=True, capture_output=True)
        return f"{text}.{base64url(signed.stdout)}"

    @property
    def option(self):
        return f"issuer={self.url},audience=app,jwks={self.url}/keys"


class Server:
    """A server under callgrind, and one connection to it."""

    def __init__(self, binary, folder, *options):
        self.profile = os.path.join(folder, "callgrind.out")
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={self.profile}", binary, "serve",
            "--port", "0", "--threads", "1", "--data", os.path.join(folder, "lockstep.db"), *options,
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


def knows_issuers(binary):
    text = subprocess.run([binary, "serve", "--help"], capture_output=True, text=True).stdout
    return "--identity" in text


def measure(binary, count, keep):
    with tempfile.TemporaryDirectory() as folder:
        issuer = Issuer(folder) if knows_issuers(binary) else None
        server = Server(binary, folder, *(["--identity", issuer.option] if issuer else []))
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
        if issuer:
            others = [issuer.token(name) for name in ("ada", "bob")]
            for token in others:
                server.send(request("PATCH", suite, token, json.dumps({"key": "a value of some length"})))
            kinds["issuer"] = lambda number: request("GET", suite, others[0])
            kinds["issuer ids"] = lambda number: request(
                "GET", suite, others[number % 2], fields=[f"X-Request-Id: request-{number:06}"]
            )
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
    for kind in max(results, key=len):
        first = results[0].get(kind)
        cells = [f"{first:,.0f}" if first else ""]
        for result in results[1:]:
            cell = f"{result[kind]:,.0f}" if kind in result else ""
            cells.append(f"{cell} ({(result[kind] / first - 1) * 100:+.1f} %)" if first and cell else cell)
        print(f"| {kind} | " + " | ".join(cells) + " |")


main()
