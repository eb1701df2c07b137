"""Accounts, sessions and passwords."""

import time

PASSWORD = "correct horse battery"


def sign_up(recorder, name, **more):
    """A user of this name, whose token is used from then on."""
    credentials = {"email": f"{name}@example.com", "password": PASSWORD, **more}
    recorder.token = recorder.post("/v1/users", credentials, token=None).json("token")
    return recorder.token


def accounts(recorder):
    post = lambda path, body, *fields: recorder.post(path, body, *fields, token=None)
    for body in (
        {}, {"email": "ada@example.com"}, {"password": PASSWORD}, {"email": 1, "password": 2, "device": 3, "more": 4},
        {"email": "nonsense", "password": "short"}, {"email": "ada@example.com", "password": "ada@example.com"},
        {"email": "ada@example.com", "password": "x" * 257}, {"email": "a" * 300 + "@example.com", "password": PASSWORD},
        {"email": "ada@example.com", "password": PASSWORD, "device": "d" * 200},
        {"email": "ada@example.com", "password": PASSWORD, "device": "line\nbreak"},
        {"email": "ada@example.com", "password": PASSWORD, "device": ""},
        {"email": "  Ada@example.com ", "password": "        "},
    ):
        post("/v1/users", body)
        post("/v1/sessions", body)
    request = recorder.head("POST", "/v1/users", ("Content-Length: 17000",), None, None)
    recorder.alone(request, method="POST", path="/v1/users", title="POST /v1/users, 17,000 bytes")
    ada = sign_up(recorder, "ada", device="desk")
    post("/v1/users", {"email": "ADA@Example.COM", "password": PASSWORD})
    post("/v1/users", {"email": "eve@example.com", "password": PASSWORD, "device": None}, "Idempotency-Key: sign-up")
    post("/v1/users", {"email": "eve@example.com", "password": PASSWORD, "device": None}, "Idempotency-Key: sign-up")
    post("/v1/users", {"email": "eve@example.com", "password": PASSWORD}, "Idempotency-Key: sign-up")
    post("/v1/users", {"email": "eva@example.com", "password": PASSWORD}, "Idempotency-Key: sign-up")
    phone = post("/v1/sessions", {"email": "ADA@EXAMPLE.com", "password": PASSWORD, "device": "phone"})
    tablet = post("/v1/sessions", {"email": "ada@example.com", "password": PASSWORD, "device": "tablet"},
                  "Idempotency-Key: log-in")
    post("/v1/sessions", {"email": "ada@example.com", "password": PASSWORD, "device": "tablet"}, "Idempotency-Key: log-in")
    post("/v1/sessions", {"email": "ada@example.com", "password": PASSWORD, "device": "other"}, "Idempotency-Key: log-in")
    post("/v1/sessions", {"email": "ada@example.com", "password": "wrong"})
    post("/v1/sessions", {"email": "nobody@example.com", "password": "wrong"})
    post("/v1/sessions", {"email": "ada@example.com", "password": "wrong"}, "Idempotency-Key: wrong")
    recorder.get("/v1/me")
    recorder.get("/v1/sessions")
    recorder.get("/v1/changes?since=now", token=phone.json("token"))
    recorder.get("/v1/changes?since=" + str(recorder.get("/v1/favorites").cursor), token=phone.json("token"))
    recorder.get("/v1/sessions")
    recorder.get("/v1/sessions", token=phone.json("token"))
    sessions(recorder, phone, tablet)
    passwords(recorder, ada)
    leaving(recorder)


def sessions(recorder, phone, tablet):
    identifier = tablet.json("session", "id")
    # The end of a session ends its long polls and streams at once.
    cursor = recorder.get("/v1/profile", token=tablet.json("token")).etag
    waiting = recorder.start("GET", "/v1/profile?wait=30", None, f"If-None-Match: {cursor}", token=tablet.json("token"))
    stream = recorder.stream("/v1/changes", token=tablet.json("token"))
    stream.events(1)
    recorder.until_waiting(2)
    recorder.delete("/v1/sessions/nonsense")
    recorder.delete("/v1/sessions/00000000-0000-7000-8000-000000000000")
    recorder.delete(f"/v1/sessions/{identifier}", "Idempotency-Key: revoke")
    waiting.response()
    stream.end()
    recorder.delete(f"/v1/sessions/{identifier}", "Idempotency-Key: revoke")
    recorder.delete(f"/v1/sessions/{identifier}")
    recorder.delete("/v1/sessions/nonsense", "Idempotency-Key: revoke")
    recorder.get("/v1/me", token=tablet.json("token"))
    recorder.delete("/v1/sessions/current", "Idempotency-Key: log-out", token=phone.json("token"))
    recorder.delete("/v1/sessions/current", "Idempotency-Key: log-out", token=phone.json("token"))
    recorder.delete("/v1/sessions/current", token=phone.json("token"))
    recorder.get("/v1/sessions")


def passwords(recorder, token):
    put = lambda body, *fields, **more: recorder.put("/v1/me/password", body, *fields, **more)
    other = recorder.post("/v1/sessions", {"email": "ada@example.com", "password": PASSWORD}, token=None).json("token")
    put({})
    put({"current": PASSWORD, "new": "short"})
    put({"current": 1, "new": 2, "more": 3})
    put({"current": "wrong", "new": "another good one"})
    put({"current": "wrong", "new": "another good one"}, "Idempotency-Key: wrong-password")
    put({"current": "wrong", "new": "another good one"}, "Idempotency-Key: wrong-password")
    put({"current": PASSWORD, "new": "another good one"}, "Idempotency-Key: password")
    put({"current": PASSWORD, "new": "another good one"}, "Idempotency-Key: password")
    put({"current": PASSWORD, "new": "yet another one"}, "Idempotency-Key: password")
    recorder.get("/v1/me", token=other)
    recorder.get("/v1/sessions")
    recorder.post("/v1/sessions", {"email": "ada@example.com", "password": PASSWORD}, token=None)
    recorder.post("/v1/sessions", {"email": "ada@example.com", "password": "another good one"}, token=None)
    # The limit on wrong passwords within a session.
    for _ in range(10):
        put({"current": "wrong", "new": "another good one"})


def leaving(recorder):
    token = sign_up(recorder, "leaver")
    recorder.put("/v1/favorites/a", "{}")
    delete = lambda body, *fields: recorder.delete("/v1/me", *fields, body=body)
    delete(None)
    delete("{}")
    delete('{"password":"wrong"}')
    delete('{"password":1,"more":2}')
    stream = recorder.stream("/v1/changes?since=now")
    stream.events(1)
    recorder.until_waiting(1)
    body = Recorded.password
    delete(body, "Idempotency-Key: leave")
    stream.end()
    delete(body, "Idempotency-Key: leave")
    delete(body)
    recorder.get("/v1/me")
    recorder.get("/v1/favorites")
    recorder.post("/v1/sessions", {"email": "leaver@example.com", "password": PASSWORD}, token=None)
    again = sign_up(recorder, "leaver")
    recorder.get("/v1/favorites")
    recorder.get("/v1/me", token=token)
    recorder.token = again


class Recorded:
    """Bodies that are sent more than once."""

    password = '{"password":"' + PASSWORD + '"}'


def too_many_passwords(recorder):
    """The limit on wrong passwords for one address. It comes last, because it also counts for the
    network."""
    for _ in range(12):
        recorder.post("/v1/sessions", {"email": "guessed@example.com", "password": "wrong"}, token=None)
        time.sleep(0)
