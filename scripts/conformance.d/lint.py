"""Requests a response of each kind from a server, and checks them with httplint."""

import json
import socket
import sys
import time
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from httplint.message import HttpRequestLinter, HttpResponseLinter
from httplint.note import levels

# Accepted warnings of httplint, by the name of the note, with the reason.
ACCEPTED = {
    "VARY_COMPLEX": "The response depends on the token, the wait, the media type and the coding.",
    "STATUS_BAD_REQUEST": "The note only explains 400, which is the expected status.",
    "STATUS_URI_TOO_LONG": "The note only explains 414, which is the expected status.",
    "CREATED_WITHOUT_LOCATION": "The new resource has the URL of the PUT request (RFC 9110, 15.3.2).",
    "REQUEST_HDR_IN_RESPONSE": "A 415 names the accepted codings in Accept-Encoding (RFC 9110, 12.5.3 and 15.5.16).",
    "STORE_PUBLIC_UNNECESSARY": "Pages of problems are public even if the client sends a token.",
}


class Server:
    def __init__(self, url, token):
        self.host = urlsplit(url).hostname
        self.port = urlsplit(url).port
        self.token = token

    def exchange(self, method, target, fields=None, body=None, token=True, events=False):
        """Sends a request. Returns its fields, the status line, fields and decoded body of the
        response, and the times before the request and after the response."""
        fields = {"Host": f"{self.host}:{self.port}", "Connection": "close", **(fields or {})}
        if token:
            fields["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            fields["Content-Length"] = str(len(body))
        lines = [f"{method} {target} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items()]
        began = time.time()
        with socket.create_connection((self.host, self.port), timeout=120) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b""))
            received = b""
            while piece := connection.recv(65536):
                received += piece
                # A stream does not end by itself.
                if events and b"\n\n" in received.partition(b"\r\n\r\n")[2]:
                    break
        head, _, rest = received.partition(b"\r\n\r\n")
        status, *answer = head.split(b"\r\n")
        answer = [tuple(part.strip() for part in line.split(b":", 1)) for line in answer]
        if any(name.lower() == b"transfer-encoding" for name, _ in answer):
            rest = unchunked(rest)
        return fields, status, answer, rest, (began, time.time())


def unchunked(rest):
    content = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length == 0:
            break
        content, rest = content + rest[:length], rest[length + 2 :]
    return content


def response_time(answer, times):
    """The moment between the request and the end of the response that is nearest to the field Date.
    The server may set Date at any moment between them, and httplint compares it with only one."""
    began, ended = times
    for name, value in answer:
        if name.lower() == b"date":
            try:
                return min(max(parsedate_to_datetime(value.decode("latin-1")).timestamp(), began), ended)
            except ValueError:
                break
    return ended


def notes(method, target, exchanged):
    fields, status, answer, content, times = exchanged
    request = HttpRequestLinter()
    request.process_request_topline(method.encode(), target.encode(), b"HTTP/1.1")
    request.process_headers([(name.encode(), value.encode()) for name, value in fields.items()])
    request.finish_content(True)
    response = HttpResponseLinter(start_time=response_time(answer, times), _related=request, no_content=method == "HEAD")
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
        # (title, status, method, target, fields, body)
        ("a new user", 201, "POST", "/v1/users", None, b'{"email":"mary@example.com","password":"correct horse"}'),
        ("a login", 201, "POST", "/v1/sessions", None, b'{"email":"mary@example.com","password":"correct horse"}'),
        ("the index", 200, "GET", "/", {}, None),
        ("health", 200, "GET", "/healthz", {}, None),
        ("readiness", 200, "GET", "/readyz", {}, None),
        ("metrics", 200, "GET", "/metrics", {}, None),
        ("a problem's page", 200, "GET", "/problems/not-found", {}, None),
        ("the description", 200, "GET", "/openapi.json", {}, None),
        ("the description, coded", 200, "GET", "/openapi.json", gzip, None),
        ("the JavaScript client", 200, "GET", "/lockstep.js", {}, None),
        ("the JavaScript client, coded", 200, "GET", "/lockstep.js", gzip, None),
        ("a head", 200, "HEAD", "/v1/favorites", {}, None),
        ("a state", 200, "GET", "/v1/favorites", {}, None),
        ("a state, coded", 200, "GET", "/v1/favorites", gzip, None),
        ("a page", 200, "GET", "/v1/favorites?limit=2", {}, None),
        ("a page of a query", 200, "GET", "/v1/favorites?where=title:prefix:Photo&sort=-id&limit=2", {}, None),
        ("the past", 200, "GET", f"/v1/favorites?at={cursor}", {}, None),
        ("an unchanged state", 304, "GET", "/v1/favorites", {"If-None-Match": tag}, None),
        ("the same, coded", 304, "GET", "/v1/favorites", {"If-None-Match": tag, **gzip}, None),
        ("a wait that is over", 304, "GET", "/v1/favorites?wait=1", {"If-None-Match": tag}, None),
        ("nothing there", 404, "GET", "/v1/favorites/none", {}, None),
        ("no such address", 404, "GET", "/nowhere", {}, None),
        ("no token", 401, "GET", "/v1/favorites", None, None),
        ("an invalid parameter", 400, "GET", "/v1/favorites?limit=none", {}, None),
        ("a method that the route does not allow", 405, "POST", "/v1/favorites", {}, b"{}"),
        ("an unknown method", 501, "BREW", "/v1/favorites", {}, None),
        ("a write of something new", 201, "PUT", "/v1/favorites/new", {}, b"{}"),
        ("a write", 200, "PUT", "/v1/favorites/new", {}, b'{"title":"New"}'),
        ("a patch", 200, "PATCH", "/v1/defaults/standard", {}, b'{"theme":"dark"}'),
        ("a write with a key", 200, "PATCH", "/v1/defaults/standard", key, b'{"theme":"light"}'),
        ("the same again", 200, "PATCH", "/v1/defaults/standard", key, b'{"theme":"light"}'),
        ("a bare value", 200, "GET", "/v1/defaults/standard/theme", {}, None),
        ("a write with an old ETag", 412, "PUT", "/v1/favorites/new", {"If-Match": '"other"'}, b"{}"),
        ("a removal", 204, "DELETE", "/v1/favorites/new", {}, None),
        ("no JSON", 400, "PUT", "/v1/favorites/new", {}, b"{"),
        ("a body with faults", 422, "PUT", "/v1/favorites/new", {}, b'{"title":1}'),
        ("an unsupported type", 415, "PUT", "/v1/favorites/new", {"Content-Type": "text/plain"}, b"{}"),
        ("an unsupported coding", 415, "PUT", "/v1/favorites/new", {"Content-Encoding": "gzip"}, b"{}"),
        ("a body that is too large", 413, "POST", "/v1/users", {}, b" " * 20_000),
        ("actions", 200, "POST", "/v1/actions", {}, b'{"actions":[{"module":"favorites","type":"clear"}]}'),
        ("the feed", 200, "GET", "/v1/changes", {}, None),
        ("the feed, after a wait", 200, "GET", f"/v1/changes?since=now&wait=1", {}, None),
        ("the feed as a stream", 200, "GET", "/v1/changes", {"Accept": "text/event-stream"}, None),
        ("the journal", 200, "GET", "/v1/journal", {}, None),
        ("an export", 200, "GET", "/v1/me/export", {}, None),
        ("sessions", 200, "GET", "/v1/sessions", {}, None),
        ("the user", 200, "GET", "/v1/me", {}, None),
        ("the catalogue", 200, "GET", "/v1/reactors", {}, None),
        ("a new screen", 201, "POST", "/v1/reactors/login", {}, b"{}"),
        ("a screen", 200, "GET", opened["href"], {}, None),
        ("a screen as a stream", 200, "GET", opened["href"], {"Accept": "text/event-stream"}, None),
        ("a screen's action", 200, "POST", opened["href"] + "/actions", {}, b'{"type":"setActive","payload":{"value":true}}'),
        ("the end of a screen", 204, "DELETE", opened["href"], {}, None),
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
        ("a refused login", 401, "POST", "/v1/sessions", None, b'{"email":"a@example.com","password":"12345678"}'),
        ("an unsupported expectation", 417, "GET", "/", {"Expect": "tea"}, None),
        ("too long a line", 414, "GET", "/" + "a" * 9000, {}, None),
        ("too large a head", 431, "GET", "/", {"X-Large": "a" * 40_000}, None),
    ]
    failed = 0
    for what, expected, method, target, fields, body in asked:
        events = bool(fields) and fields.get("Accept") == "text/event-stream"
        exchanged = server.exchange(method, target, fields, body, token=fields is not None, events=events)
        # On a busy machine, a check of readiness may exceed its limit.
        end = time.monotonic() + 120
        while target == "/readyz" and status_of(exchanged) == 503 and time.monotonic() < end:
            exchanged = server.exchange(method, target, fields)
        status = status_of(exchanged)
        complaints = [] if status == expected else [f"got {status}, expected {expected}"]
        for note in notes(method, target[:200], exchanged):
            name = type(note).__name__
            if note.level in (levels.WARN, levels.BAD) and name not in ACCEPTED:
                complaints.append(f"{note.level.name} {name}: {note.summary}")
        failed += len(complaints)
        for complaint in complaints:
            print(f"{what} ({method} {target[:80]}): {complaint}")
    print(f"{len(asked)} responses, {failed} complaints")
    sys.exit(1 if failed else 0)


def status_of(exchanged):
    return int(exchanged[1].split()[1])


def field(exchanged, name):
    return next(value.decode() for key, value in exchanged[2] if key.decode().lower() == name)


main()
