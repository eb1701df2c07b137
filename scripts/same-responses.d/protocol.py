"""HTTP itself: framing, versions, connections, and invalid requests."""

from users import sign_up


def protocol(recorder):
    token = sign_up(recorder, "protocol")
    host = b"Host: lockstep.example\r\n"
    authorization = f"Authorization: Bearer {token}\r\n".encode()
    for title, request in {
        "HTTP/1.0": b"GET /healthz HTTP/1.0\r\n\r\n",
        "HTTP/1.0, keep-alive": b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "HTTP/1.1 without Host": b"GET /healthz HTTP/1.1\r\n\r\n",
        "two Hosts": b"GET /healthz HTTP/1.1\r\n" + host + host + b"\r\n",
        "HTTP/2.0": b"GET /healthz HTTP/2.0\r\n" + host + b"\r\n",
        "HTTP/1.2": b"GET /healthz HTTP/1.2\r\n" + host + b"\r\n",
        "HTTP/0.9": b"GET /healthz\r\n\r\n",
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
        "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "a bare LF": b"GET /healthz HTTP/1.1\n" + host + b"\r\n",
        "a bare LF in the fields": b"GET /healthz HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
        "obs-fold": b"GET /healthz HTTP/1.1\r\n" + host + b"A: b\r\n c\r\n\r\n",
        "a space before the colon": b"GET /healthz HTTP/1.1\r\n" + host + b"A : b\r\n\r\n",
        "a field without a colon": b"GET /healthz HTTP/1.1\r\n" + host + b"nonsense\r\n\r\n",
        "an empty field name": b"GET /healthz HTTP/1.1\r\n" + host + b": x\r\n\r\n",
        "a NUL in a field": b"GET /healthz HTTP/1.1\r\n" + host + b"A: b\0c\r\n\r\n",
        "two spaces": b"GET  /healthz HTTP/1.1\r\n" + host + b"\r\n",
        "a lowercase method": b"get /healthz HTTP/1.1\r\n" + host + b"\r\n",
        "a method that is none": b"G(T /healthz HTTP/1.1\r\n" + host + b"\r\n",
        "a relative target": b"GET healthz HTTP/1.1\r\n" + host + b"\r\n",
        "an absolute target": b"GET http://other.example/healthz HTTP/1.1\r\n" + host + b"\r\n",
        "an absolute target without a path": b"GET http://other.example HTTP/1.1\r\n" + host + b"\r\n",
        "CONNECT": b"CONNECT other.example:80 HTTP/1.1\r\n" + host + b"\r\n",
        "TRACE": b"TRACE /healthz HTTP/1.1\r\n" + host + b"\r\n",
        "OPTIONS *": b"OPTIONS * HTTP/1.1\r\n" + host + b"\r\n",
        "GET *": b"GET * HTTP/1.1\r\n" + host + b"\r\n",
        "a fragment": b"GET /healthz#x HTTP/1.1\r\n" + host + b"\r\n",
        "a raw byte in the target": b"GET /v1/favorites/\xe9 HTTP/1.1\r\n" + host + authorization + b"\r\n",
        "a leading empty line": b"\r\nGET /healthz HTTP/1.1\r\n" + host + b"\r\n",
        "two slashes": b"GET //healthz HTTP/1.1\r\n" + host + b"\r\n",
        "Connection: close": b"GET /healthz HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n",
        "Upgrade": b"GET /healthz HTTP/1.1\r\n" + host + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        "Expect something": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + authorization + b"Expect: wonders\r\nContent-Length: 2\r\n\r\n{}",
        "both lengths": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        "two lengths": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "the same length twice": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + authorization + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        "a length that is none": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + b"Content-Length: +2\r\n\r\n{}",
        "a length past 64 bits": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + b"Content-Length: 99999999999999999999\r\n\r\n",
        "a transfer coding": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        "chunked in HTTP/1.0": b"PUT /v1/favorites/x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "a chunk without a size": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + authorization + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        "a chunk too short": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + authorization + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
        "chunks, an extension and a trailer": b"PUT /v1/favorites/x HTTP/1.1\r\n" + host + authorization
        + b'Transfer-Encoding: chunked\r\n\r\n1;a="b"\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n',
        "no length where a body could be": b"PUT /v1/favorites/y HTTP/1.1\r\n" + host + authorization + b"\r\n",
        "a body with GET": b"GET /v1/favorites HTTP/1.1\r\n" + host + authorization + b"Content-Length: 2\r\n\r\n{}",
        "a long line": b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        "a long query": b"GET /healthz?" + b"x" * 9000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        "large fields": b"GET /healthz HTTP/1.1\r\n" + host + b"A: " + b"x" * 40000 + b"\r\n\r\n",
        "many fields": b"GET /healthz HTTP/1.1\r\n" + host + b"A: b\r\n" * 101 + b"\r\n",
        "two tokens": b"GET /v1/me HTTP/1.1\r\n" + host + authorization * 2 + b"\r\n",
        "another scheme's case": b"GET /v1/me HTTP/1.1\r\n" + host + authorization.replace(b"Bearer", b"bEARER") + b"\r\n",
    }.items():
        recorder.alone(request, title=title, path="/protocol")
    recorder.alone(b"GET /healthz HTTP/1.1\r\n" + host + b"\r\n" + b"GET /nope HTTP/1.1\r\n" + host + b"\r\n"
                   + b"HEAD /healthz HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n", "GET", "GET", "HEAD", title="three in a row")
    recorder.alone(b"PUT /v1/favorites/z HTTP/1.1\r\n" + host + authorization + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
                   method="PUT", title="Expect: 100-continue", halves=b"{}")
    recorder.alone(b"PUT /v1/nothing HTTP/1.1\r\n" + host + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
                   method="PUT", title="Expect: 100-continue of nothing")
    recorder.alone(b"PUT /v1/favorites/z HTTP/1.1\r\n" + host + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
                   method="PUT", title="Expect: 100-continue without a token", halves=b"{}")
    recorder.alone(b"GET /heal", title="half a request", halves=b"thz HTTP/1.1\r\n" + host + b"\r\n")
    for accept in ("gzip", "gzip;q=0.5, identity;q=0.1", "identity", "*", "br, gzip;q=0.001", "gzip;q=0", "x-gzip", "*;q=0", "gzip;q=x", ""):
        recorder.get("/openapi.json", f"Accept-Encoding: {accept}", token=None)
    for name in ("of-the-client", "with space", "x" * 128, "x" * 129, "é", ""):
        recorder.get("/healthz", f"X-Request-Id: {name}", token=None)
        recorder.get("/nope", f"X-Request-Id: {name}", token=None)


def service(recorder):
    """The service's own resources."""
    recorder.token = None
    recorder.get("/")
    recorder.get("/healthz")
    recorder.get("/readyz")
    recorder.get("/openapi.json")
    pages = recorder.get("/problems").json("items")
    known = [page["type"] for page in pages] if isinstance(pages, list) else []
    for path in known:
        recorder.get(path)
        recorder.ask("HEAD", path)
    for path in ("/problems/nothing", "/problems/", "/v1", "/v1/", "/v2/favorites", "/favicon.ico", "/lockstep.js", "/inspector/",
                 "/v1/admin", "/v1/admin/users", "/v1/admin/collections", "/V1/me", "/healthz/x", "/%68ealthz", "/v1/favorites/a/b",
                 "/v1/defaults/a/b/c", "/v1/reactors/login/x/y"):
        recorder.get(path)
        recorder.ask("PUT", path, "{}")
        recorder.ask("OPTIONS", path)
