"""Sends every kind of invalid request to every route: methods, tokens, queries, types and sizes of
bodies."""

from serving import ADMINISTRATOR

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Route:
    """A route: its path in the OpenAPI document, the path to request, and its properties."""

    def __init__(self, pattern, path, access, **methods):
        self.pattern, self.path, self.access = pattern, path, access
        # By method: a well-formed body, or None if the method takes no body.
        self.methods = {name.upper(): body for name, body in methods.items()}


# All routes. The part fills in {session}, {screen} and {version} when it begins.
ROUTES = [
    Route("/", "/", "public", get=None),
    Route("/healthz", "/healthz", "public", get=None),
    Route("/readyz", "/readyz", "public", get=None),
    Route("/metrics", "/metrics", "public", get=None),
    Route("/openapi.json", "/openapi.json", "public", get=None),
    Route("/lockstep.js", "/lockstep.js", "public", get=None),
    Route("/lockstep.d.ts", "/lockstep.d.ts", "public", get=None),
    Route("/lockstep-{version}.js", "/lockstep-{version}.js", "public", get=None),
    Route("/lockstep-{version}.d.ts", "/lockstep-{version}.d.ts", "public", get=None),
    Route("/problems", "/problems", "public", get=None),
    Route("/problems/{slug}", "/problems/conflict", "public", get=None),
    Route("/v1/users", "/v1/users", "public", post='{"email":"no"}'),
    Route("/v1/sessions", "/v1/sessions", "log-in", get=None, post='{"email":"no"}'),
    Route("/v1/sessions/{id}", "/v1/sessions/{session}", "user", delete=None),
    Route("/v1/me", "/v1/me", "user", get=None, delete='{"password":1}'),
    Route("/v1/me/password", "/v1/me/password", "user", put='{"current":1}'),
    Route("/v1/me/export", "/v1/me/export", "user", get=None),
    Route("/v1/favorites", "/v1/favorites", "user", get=None),
    Route("/v1/favorites/{id}", "/v1/favorites/sweep", "user", get=None, put="{}", patch="{}", delete=None),
    Route("/v1/favorites/{id}/position", "/v1/favorites/sweep/position", "user", put='{"index":0}'),
    Route("/v1/defaults", "/v1/defaults", "user", get=None),
    Route("/v1/defaults/{suite}", "/v1/defaults/sweep", "user", get=None, patch='{"a":1}'),
    Route("/v1/defaults/{suite}/{key}", "/v1/defaults/sweep/key", "user", get=None, put="1", delete=None),
    Route("/v1/profile", "/v1/profile", "user", get=None, patch='{"position":"Sweeper"}'),
    Route("/v1/actions", "/v1/actions", "user", post='{"actions":[]}'),
    Route("/v1/changes", "/v1/changes", "user", get=None),
    Route("/v1/journal", "/v1/journal", "user", get=None),
    Route("/v1/admin/registered/{suite}", "/v1/admin/registered/sweep", "administrator",
          get=None, put='{"a":1}', patch='{"b":2}'),
    Route("/v1/reactors", "/v1/reactors", "public", get=None),
    Route("/v1/reactors/{name}", "/v1/reactors/favoritesTop", "user", post="{}"),
    Route("/v1/reactors/{name}/{id}", "/v1/reactors/favoritesTop/{screen}", "user", get=None, delete=None),
    Route("/v1/reactors/{name}/{id}/actions", "/v1/reactors/favoritesTop/{screen}/actions", "user",
          post='{"type":"viewWillAppear","payload":{}}'),
]

QUERIES = ("?nonsense=1", "?wait=x", "?wait=-1", "?wait=1&wait=2", "?at=%zz", "?at=no", "?at=*", "?limit=0", "?limit=x",
           "?since=%FF", "?since=*", "?prefix=%", "?collections=,", "?collections=nothing", "?dryRun=maybe")


def sweep(recorder):
    """Sends all requests as a new user."""
    recorder.token = recorder.post(
        "/v1/users", {"email": "sweep@example.com", "password": "correct horse", "device": "sweeper"}, token=None
    ).json("token")
    other = recorder.post("/v1/sessions", {"email": "sweep@example.com", "password": "correct horse"}, token=None)
    screen = recorder.post("/v1/reactors/favoritesTop", "{}")
    recorder.put("/v1/favorites/sweep", {"title": "Sweep", "data": "long enough for gzip " * 60})
    recorder.patch("/v1/defaults/sweep", {"key": "long enough for gzip " * 60})
    version = recorder.get("/").json("version")
    described = recorder.get("/openapi.json").json("paths")
    patterns = {route.pattern.replace("{version}", version) for route in ROUTES}
    if described == "absent" or set(described) != patterns:
        recorder.write("routes that this comparison does not know, or that no longer exist",
                       sorted(patterns.symmetric_difference(described)), "/")
    for route in ROUTES:
        path = route.path.format_map({
            "session": other.json("session", "id"), "screen": screen.json("id"), "version": version,
        })
        token = ADMINISTRATOR if route.access == "administrator" else None if route.access == "public" else "own"
        ask_methods(recorder, route, path, token)
        if route.access != "public":
            ask_tokens(recorder, route, path)
        if "GET" in route.methods:
            ask_reads(recorder, path, token)
        for method, body in route.methods.items():
            if method != "GET":
                ask_writes(recorder, method, path, body, token)


def ask_methods(recorder, route, path, token):
    for method in METHODS:
        if method not in route.methods:
            recorder.ask(method, path, token=token)
    recorder.ask("BREW", path, token=token)
    recorder.ask("OPTIONS", path, None, "Origin: https://app.example", "Access-Control-Request-Method: PUT", token=None)
    recorder.get(path + "/", token=token)


def ask_tokens(recorder, route, path):
    for method, body in route.methods.items():
        if method == "POST" and route.access == "log-in":
            continue
        recorder.ask(method, path, body, token=None)
        recorder.ask(method, path, body, "Authorization: Bearer nobodys", token=None)
    method, body = next(iter(route.methods.items()))
    recorder.ask(method, path, body, "Authorization: Basic dXNlcjpwYXNzd29yZA==", token=None)
    if route.access == "administrator":
        recorder.ask(method, path, body)


def ask_reads(recorder, path, token):
    first = recorder.get(path, token=token)
    recorder.ask("HEAD", path, token=token)
    recorder.get(path, f"If-None-Match: {first.etag}", token=token)
    recorder.get(path, f"If-None-Match: W/{first.etag}", token=token)
    recorder.get(path, f'If-None-Match: "other", {first.etag}', token=token)
    recorder.ask("HEAD", path, None, f"If-None-Match: {first.etag}", token=token)
    recorder.get(path, 'If-None-Match: "other"', token=token)
    recorder.get(path, "If-None-Match: *", token=token)
    recorder.get(path, "If-None-Match: unquoted", token=token)
    recorder.get(path, 'If-Match: "other"', token=token)
    recorder.get(path, "Accept-Encoding: gzip", token=token)
    recorder.get(path, "Accept-Encoding: gzip;q=0, identity", token=token)
    recorder.get(path, "Accept: text/html", token=token)
    recorder.get(path, "Origin: https://app.example", token=token)
    recorder.get(path, "X-Request-Id: of-the-client", token=token)
    recorder.get(path, "Range: bytes=0-4", token=token)
    for query in QUERIES:
        recorder.get(path + query, token=token)


def ask_writes(recorder, method, path, body, token):
    def ask(body, *fields, suffix=""):
        recorder.ask(method, path + suffix, body, *fields, token=token)

    # A DELETE without a body would succeed. Other parts test its bodies.
    ask(body, "If-Match: unquoted")
    ask(body, "If-None-Match: unquoted")
    ask(body, "Idempotency-Key: ")
    ask(body, f"Idempotency-Key: {'k' * 300}")
    if body is None:
        ask("{", 'If-Match: "other"')
        return
    ask("{")
    ask("")
    ask("17")
    ask("[]")
    ask("null")
    ask('"text"')
    ask('{"unknown":1,"another/~one":2}')
    ask('{"a":1e999}')
    ask('{"a":1,"a":2}')
    ask(b'{"a":"\xff"}')
    ask("[" * 200 + "]" * 200)
    ask(body, "Content-Type: text/plain")
    ask(body, "Content-Type: application/xml; charset=utf-8")
    ask(body, "Content-Type: application/json; charset=utf-8")
    ask(body, "Content-Type: application/vnd.example+json")
    ask(body, "Content-Type: application/x-www-form-urlencoded")
    ask(body, "Content-Type: application/merge-patch+json")
    ask(body, "Content-Type: application/json-patch+json")
    ask(body, "Content-Encoding: gzip")
    ask(body, "Content-Encoding: identity")
    ask(body, suffix="?nonsense=1")
    request = recorder.head(method, path, ("Content-Length: 2000000",), None, token)
    recorder.alone(request, method=method, path=path, title=f"{method} {path}, with a body that is announced too large")
