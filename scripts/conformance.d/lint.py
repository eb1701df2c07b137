"""Asks a server for an answer of each kind, and has httplint read every one."""

import json
import socket
import sys
import time
from urllib.parse import urlsplit

from httplint.message import HttpRequestLinter, HttpResponseLinter
from httplint.note import levels

# What httplint warns of and stays as it is, by the name of its note, with the reason.
ACCEPTED = {
    "VARY_COMPLEX": "The answer does depend on all of them: the token, a wait, the kind of document, the coding.",
    "STATUS_BAD_REQUEST": "It says what a 400 is, and that is what was asked for.",
    "STATUS_URI_TOO_LONG": "It says what a 414 is, and that is what was asked for.",
    "CREATED_WITHOUT_LOCATION": "What a PUT has made is at the address of the PUT itself (RFC 9110, 15.3.2).",
    "REQUEST_HDR_IN_RESPONSE": "A 415 tells by Accept-Encoding which codings are taken (RFC 9110, 12.5.3 and 15.5.16).",
    "STORE_PUBLIC_UNNECESSARY": "A client may send its token with every request; what a problem means is still for all.",
}


class Server:
    def __init__(self, url, token):
        self.host = urlsplit(url).hostname
        self.port = urlsplit(url).port
        self.token = token

    def exchange(self, method, target, fields=None, body=None, token=True, events=False):
        """Sends one request, and gives it with its answer: status line, fields, body as it came off
        the framing."""
        fields = {"Host": f"{self.host}:{self.port}", "Connection": "close", **(fields or {})}
        if token:
            fields["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            fields["Content-Length"] = str(len(body))
        lines = [f"{method} {target} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items()]
        with socket.create_connection((self.host, self.port), timeout=30) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b""))
            received = b""
            while piece := connection.recv(65536):
                received += piece
                # A stream has no end of its own.
                if events and b"\n\n" in received.partition(b"\r\n\r\n")[2]:
                    break
        head, _, rest = received.partition(b"\r\n\r\n")
        status, *answer = head.split(b"\r\n")
        answer = [tuple(part.strip() for part in line.split(b":", 1)) for line in answer]
        if any(name.lower() == b"transfer-encoding" for name, _ in answer):
            rest = unchunked(rest)
        return fields, status, answer, rest


def unchunked(rest):
    content = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length == 0:
            break
        content, rest = content + rest[:length], rest[length + 2 :]
    return content


def notes(method, target, exchanged):
    fields, status, answer, content = exchanged
    request = HttpRequestLinter()
    request.process_request_topline(method.encode(), target.encode(), b"HTTP/1.1")
    request.process_headers([(name.encode(), value.encode()) for name, value in fields.items()])
    request.finish_content(True)
    response = HttpResponseLinter(start_time=time.time(), _related=request, no_content=method == "HEAD")
    version, code, phrase = (status.split(b" ", 2) + [b""])[:3]
    response.process_response_topline(version, code, phrase)
    response.process_headers(answer)
    response.feed_content(content)
    response.finish_content(True)
    return response.notes


def main():
    server = Server(sys.argv[1], sys.argv[2])
    for number in range(40):
        server.exchange("PUT", f"/v1/favorites/photo:{number}", body=json.dumps({"title": f"Photo {number}"}).encode())
    tag = field(server.exchange("GET", "/v1/favorites"), "etag")
    cursor = field(server.exchange("GET", "/v1/favorites"), "cursor")
    opened = json.loads(server.exchange("POST", "/v1/reactors/login", body=b"{}", token=False)[3])
    origin = {"Origin": "https://app.example"}
    gzip = {"Accept-Encoding": "gzip"}
    key = {"Idempotency-Key": "once"}
    asked = [
        # (what it is, the status, method, target, fields, body)
        ("a new user", 201, "POST", "/v1/users", None, b'{"email":"mary@example.com","password":"correct horse"}'),
        ("a login", 201, "POST", "/v1/sessions", None, b'{"email":"mary@example.com","password":"correct horse"}'),
        ("the index", 200, "GET", "/", {}, None),
        ("health", 200, "GET", "/healthz", {}, None),
        ("readiness", 200, "GET", "/readyz", {}, None),
        ("metrics", 200, "GET", "/metrics", {}, None),
        ("a problem's page", 200, "GET", "/problems/not-found", {}, None),
        ("the description", 200, "GET", "/openapi.json", {}, None),
        ("the description, coded", 200, "GET", "/openapi.json", gzip, None),
        ("a head", 200, "HEAD", "/v1/favorites", {}, None),
        ("a state", 200, "GET", "/v1/favorites", {}, None),
        ("a state, coded", 200, "GET", "/v1/favorites", gzip, None),
        ("a page", 200, "GET", "/v1/favorites?limit=2", {}, None),
        ("the past", 200, "GET", f"/v1/favorites?at={cursor}", {}, None),
        ("what is known already", 304, "GET", "/v1/favorites", {"If-None-Match": tag}, None),
        ("the same, coded", 304, "GET", "/v1/favorites", {"If-None-Match": tag, **gzip}, None),
        ("a wait that is over", 304, "GET", "/v1/favorites?wait=1", {"If-None-Match": tag}, None),
        ("nothing there", 404, "GET", "/v1/favorites/none", {}, None),
        ("no such address", 404, "GET", "/nowhere", {}, None),
        ("no token", 401, "GET", "/v1/favorites", None, None),
        ("a parameter that can't be", 400, "GET", "/v1/favorites?limit=none", {}, None),
        ("a method that isn't there", 405, "POST", "/v1/favorites", {}, b"{}"),
        ("a method that nobody knows", 501, "BREW", "/v1/favorites", {}, None),
        ("a write of something new", 201, "PUT", "/v1/favorites/new", {}, b"{}"),
        ("a write", 200, "PUT", "/v1/favorites/new", {}, b'{"title":"New"}'),
        ("a patch", 200, "PATCH", "/v1/defaults/standard", {}, b'{"theme":"dark"}'),
        ("a write with a key", 200, "PATCH", "/v1/defaults/standard", key, b'{"theme":"light"}'),
        ("the same again", 200, "PATCH", "/v1/defaults/standard", key, b'{"theme":"light"}'),
        ("a bare value", 200, "GET", "/v1/defaults/standard/theme", {}, None),
        ("a write that came too late", 412, "PUT", "/v1/favorites/new", {"If-Match": '"other"'}, b"{}"),
        ("a removal", 204, "DELETE", "/v1/favorites/new", {}, None),
        ("no JSON", 400, "PUT", "/v1/favorites/new", {}, b"{"),
        ("a body with faults", 422, "PUT", "/v1/favorites/new", {}, b'{"title":1}'),
        ("a type that isn't read", 415, "PUT", "/v1/favorites/new", {"Content-Type": "text/plain"}, b"{}"),
        ("a coding that isn't read", 415, "PUT", "/v1/favorites/new", {"Content-Encoding": "gzip"}, b"{}"),
        ("a body that is too large", 413, "POST", "/v1/users", {}, b" " * 20_000),
        ("actions", 200, "POST", "/v1/actions", {}, b'{"actions":[{"module":"favorites","type":"clear"}]}'),
        ("the feed", 200, "GET", "/v1/changes", {}, None),
        ("the feed, after a wait", 200, "GET", f"/v1/changes?since=now&wait=1", {}, None),
        ("the feed as a stream", 200, "GET", "/v1/changes", {"Accept": "text/event-stream"}, None),
        ("the journal", 200, "GET", "/v1/journal", {}, None),
        ("an export", 200, "GET", "/v1/me/export", {}, None),
        ("sessions", 200, "GET", "/v1/sessions", {}, None),
        ("who is logged in", 200, "GET", "/v1/me", {}, None),
        ("the catalogue", 200, "GET", "/v1/reactors", {}, None),
        ("a screen that is opened", 201, "POST", "/v1/reactors/login", {}, b"{}"),
        ("a screen", 200, "GET", opened["href"], {}, None),
        ("a screen as a stream", 200, "GET", opened["href"], {"Accept": "text/event-stream"}, None),
        ("a screen's action", 200, "POST", opened["href"] + "/actions", {}, b'{"type":"setActive","payload":{"value":true}}'),
        ("a screen that is closed", 204, "DELETE", opened["href"], {}, None),
        ("options", 204, "OPTIONS", "/v1/favorites", {}, None),
        ("options of the server", 204, "OPTIONS", "*", {}, None),
        (
            "a preflight",
            204,
            "OPTIONS",
            "/v1/favorites/a",
            {**origin, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"},
            None,
        ),
        ("a state for another origin", 200, "GET", "/v1/favorites", origin, None),
        ("a problem for another origin", 404, "GET", "/nowhere", origin, None),
        ("a login that is refused", 401, "POST", "/v1/sessions", None, b'{"email":"a@example.com","password":"12345678"}'),
        ("an expectation that can't be met", 417, "GET", "/", {"Expect": "tea"}, None),
        ("too long a line", 414, "GET", "/" + "a" * 9000, {}, None),
        ("too large a head", 431, "GET", "/", {"X-Large": "a" * 40_000}, None),
    ]
    failed = 0
    for what, expected, method, target, fields, body in asked:
        events = bool(fields) and fields.get("Accept") == "text/event-stream"
        exchanged = server.exchange(method, target, fields, body, token=fields is not None, events=events)
        status = int(exchanged[1].split()[1])
        complaints = [] if status == expected else [f"answered {status} instead of {expected}"]
        for note in notes(method, target[:200], exchanged):
            name = type(note).__name__
            if note.level in (levels.WARN, levels.BAD) and name not in ACCEPTED:
                complaints.append(f"{note.level.name} {name}: {note.summary}")
        failed += len(complaints)
        for complaint in complaints:
            print(f"{what} ({method} {target[:80]}): {complaint}")
    print(f"{len(asked)} answers, {failed} complaints")
    sys.exit(1 if failed else 0)


def field(exchanged, name):
    return next(value.decode() for key, value in exchanged[2] if key.decode().lower() == name)


main()
