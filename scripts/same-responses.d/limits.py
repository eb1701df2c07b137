"""Servers with options: quotas, limits, origins, closed registration, and shutdown."""

import time

from serving import ADMINISTRATOR
from states import PATCH, action
from users import PASSWORD, sign_up

SMALL = ("--max-favorites", "3", "--max-favorites-bytes", "400", "--max-suites", "2", "--max-default-keys", "3",
         "--max-suite-bytes", "200", "--max-body", "2KiB", "--max-waits-per-user", "1", "--max-wait", "1",
         "--head-timeout", "1s", "--body-grace", "1s", "--max-request-line", "1KiB", "--max-header-section", "2KiB",
         "--max-header-fields", "10", "--password-min", "12", "--history-min", "1", "--history-days", "0")


def quotas(recorder):
    sign_up(recorder, "small", password="short of 12")
    sign_up(recorder, "small")
    put, patch = recorder.put, recorder.patch
    for name in "abcd":
        put(f"/v1/favorites/{name}", {"title": name})
    put("/v1/favorites/d", "{}", "Idempotency-Key: quota")
    put("/v1/favorites/d", "{}", "Idempotency-Key: quota")
    put("/v1/favorites/a", {"title": "t" * 300})
    patch("/v1/favorites/a", {"data": "d" * 300})
    patch("/v1/favorites/a", [{"op": "add", "path": "/data", "value": "d" * 300}], PATCH)
    post = lambda *actions: recorder.post("/v1/actions", {"actions": list(actions)})
    post(action("favorites", "remove", id="a"), action("favorites", "add", id="d"), action("favorites", "add", id="e"))
    post(action("favorites", "toggle", id="f"))
    recorder.get("/v1/favorites")
    for suite in ("one", "two", "three"):
        put(f"/v1/defaults/{suite}/k", "1")
        patch(f"/v1/defaults/{suite}", {"x": 1, "y": 2})
        patch(f"/v1/defaults/{suite}", {"x": 1, "y": 2, "z": 3})
    put("/v1/defaults/one/k", '"' + "x" * 250 + '"')
    patch("/v1/defaults/one", {"k": "x" * 250})
    post(action("defaults", "merge", suite="one", values={"n1": 1, "n2": 2}))
    post(action("defaults", "set", suite="three", key="k", value=1))
    recorder.get("/v1/defaults")
    for body in ({"a": 1, "b": 2, "c": 3, "d": 4}, {"a": "x" * 250}, {"a": 1}):
        put("/v1/admin/registered/one", body, token=ADMINISTRATOR)
        patch("/v1/admin/registered/one", body, token=ADMINISTRATOR)
    put("/v1/favorites/a", "x" * 2049)
    request = recorder.head("PUT", "/v1/favorites/a", ("Transfer-Encoding: chunked",)) + b"801\r\n" + b" " * 2049 + b"\r\n0\r\n\r\n"
    recorder.alone(request, method="PUT", title="chunks that are too large")
    recorder.alone(recorder.head("GET", "/healthz", ("A: b",) * 20, None, None), title="too many fields")
    recorder.alone(recorder.head("GET", "/healthz", ("A: " + "b" * 3000,), None, None), title="too large a head")
    recorder.alone(recorder.head("GET", "/" + "x" * 1500, (), None, None), title="too long a line")
    recorder.alone(b"GET /healthz HTTP/1.1\r\nHo", title="a head that doesn't end")
    recorder.alone(recorder.head("PUT", "/v1/favorites/b", ("Content-Length: 9",)) + b"{", method="PUT", title="a body that doesn't end")
    cursor = recorder.get("/v1/profile").etag
    first = recorder.start("GET", "/v1/profile?wait=55", None, f"If-None-Match: {cursor}")
    recorder.until_waiting(1)
    recorder.get("/v1/profile?wait=5", f"If-None-Match: {cursor}")
    recorder.get("/v1/changes?since=" + recorder.get("/v1/changes?since=now").json("cursor") + "&wait=5")
    recorder.stream("/v1/changes").close()
    first.response()
    old = recorder.get("/v1/changes?since=now").json("cursor")
    for number in range(5):
        put("/v1/defaults/one/k", str(number))
    recorder.get(f"/v1/changes?since={old}")
    recorder.get("/openapi.json", token=None)


def origins(recorder):
    """Names of requests, origins and how many requests are left."""
    log_in = lambda *fields: recorder.post("/v1/sessions", {"email": "known@example.com", "password": PASSWORD}, *fields, token=None)
    recorder.post("/v1/users", {"email": "new@example.com", "password": PASSWORD}, token=None)
    recorder.token = log_in("Origin: https://app.example").json("token")
    log_in("Origin: https://other.example")
    for origin in ("https://app.example", "https://other.example", "null", "http://lockstep.example", ""):
        field = f"Origin: {origin}"
        for path in ("/healthz", "/v1/me", "/nope", "/openapi.json", "/v1/reactors"):
            recorder.get(path, field)
            recorder.ask("OPTIONS", path, None, field)
            recorder.ask("OPTIONS", path, None, field, "Access-Control-Request-Method: GET",
                         "Access-Control-Request-Headers: authorization", token=None)
        recorder.put("/v1/favorites/a", "{}", field)
        recorder.put("/v1/favorites/a", "{", field)
        recorder.get("/v1/favorites", field, "Accept-Encoding: gzip")
        recorder.get("/v1/favorites", field, f"If-None-Match: {recorder.get('/v1/favorites', field).etag}")
        recorder.ask("POST", "/v1/favorites", "{}", field)
        stream = recorder.stream("/v1/changes?since=now", field)
        stream.events(1)
        stream.close()
    recorder.alone(b"GET /healthz HTTP/2.0\r\nOrigin: https://app.example\r\n\r\n", title="a refusal of the engine with an origin")
    # Use up this token's requests, and send some more.
    for _ in range(20):
        recorder.get("/v1/me")
    recorder.put("/v1/favorites/a", "{}")
    recorder.stream("/v1/changes").close()


def rates(recorder):
    """A limit for each address, any origin, and no administrator."""
    sign_up(recorder, "rates")
    recorder.get("/v1/me", "Origin: https://any.example")
    recorder.ask("OPTIONS", "/v1/me", None, "Origin: https://any.example", "Access-Control-Request-Method: PUT", token=None)
    for method, body in (("GET", None), ("PUT", "{}"), ("PATCH", "{}"), ("DELETE", None), ("OPTIONS", None)):
        recorder.ask(method, "/v1/admin/registered/standard", body, token=ADMINISTRATOR)
        recorder.ask(method, "/v1/admin/registered/standard", body, token=None)
    for _ in range(20):
        recorder.get("/")
    for path in ("/healthz", "/readyz", "/metrics", "/v1/me", "/nope"):
        recorder.get(path)


def draining(recorder, server):
    """Requests that wait while the server stops. Also records how the server exits."""
    sign_up(recorder, "drained")
    tag = recorder.get("/v1/profile").etag
    since = recorder.get("/v1/changes?since=now").json("cursor")
    stream = recorder.stream("/v1/changes?since=now")
    stream.events(1)
    screen = recorder.post("/v1/reactors/favoritesTop", "")
    view = recorder.stream(f"/v1/reactors/favoritesTop/{screen.json('id')}")
    view.events(1)
    pending = [recorder.start("GET", "/v1/profile?wait=30", None, f"If-None-Match: {tag}"),
               recorder.start("GET", f"/v1/changes?since={since}&wait=30"), recorder.start("GET", f"/v1/journal?since={since}&wait=30")]
    recorder.until_waiting(4)
    if recorder.main:
        recorder.main.close()
    time.sleep(0.05)
    server.terminate()
    for one in pending:
        one.response()
    stream.end()
    view.end()
    recorder.normalizer.literals.append((f"127.0.0.1:{server.address[1]}", "<server>"))
    recorder.write("the server's end", [server.first_line, f"exit code {server.stop()}"], "/")
