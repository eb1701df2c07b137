"""The built-in screens, and the catalogue."""

import re
import socket
import threading
import time

from users import PASSWORD, sign_up


def opened(recorder, name, arguments=None, token="own", suffix=""):
    body = "" if arguments is None else {"arguments": arguments}
    return Screen(recorder, recorder.post(f"/v1/reactors/{name}{suffix}", body, token=token), name, token)


class Screen:
    """An open screen."""

    def __init__(self, recorder, response, name, token):
        self.recorder, self.token = recorder, token
        self.path = f"/v1/reactors/{name}/{response.json('id')}"
        self.etag = response.etag

    def act(self, kind, *fields, **payload):
        return self.acts({"type": kind, "payload": payload}, *fields)

    def acts(self, body, *fields):
        response = self.recorder.post(self.path + "/actions", body, *fields, token=self.token)
        if response.status == 200:
            self.etag = response.etag
        return response

    def get(self, *fields, query=""):
        return self.recorder.get(self.path + query, *fields, token=self.token)

    def until(self, holds):
        """Waits for a state that satisfies `holds`, and records it. It does not record the states
        before it, because their number depends on timing."""
        end = time.monotonic() + 8
        connection = self.recorder.connect()
        while time.monotonic() < end:
            connection.send(self.recorder.head("GET", self.path, (), None,
                                               self.recorder.token if self.token == "own" else self.token))
            response = connection.response("GET")
            if holds(response.json("state")):
                break
            time.sleep(0.01)
        connection.close()
        response = self.get()
        self.etag = response.etag
        return response

    def close(self, *fields):
        return self.recorder.delete(self.path, *fields, token=self.token)


def refusals(recorder, screen):
    """Actions that any screen refuses."""
    path = screen.path + "/actions"
    post = lambda body, *fields: recorder.post(path, body, *fields, token=screen.token)
    for body in ({}, [], {"type": "explode"}, {"type": 1, "payload": 2, "more": 3}, [{"type": "explode"}, {"type": 5}],
                 [{"type": "explode"}] * 501, {"type": "explode", "payload": []}, "[1,null]"):
        post(body)
    post({"type": "explode"}, 'If-Match: "other"')
    post({"type": "explode"}, "If-None-Match: *")


def login(recorder):
    sign_up(recorder, "screens")
    screen = opened(recorder, "login", token=None)
    opened(recorder, "login", {"more": 1}, token=None)
    opened(recorder, "login", suffix="?more=1", token=None)
    opened(recorder, "login", {}, token=None)
    for device in ("", " ", "Tablet", 5, "x" * 129):
        opened(recorder, "login", {"device": device}, token=None)
    for language in ("ja", "sv, de-AT;q=0.5", "fr;q=0, es", "*", ";;"):
        response = recorder.post("/v1/reactors/login", "{}", f"Accept-Language: {language}", token=None)
        Screen(recorder, response, "login", None).act("setUsername", value="nonsense")
    for body in ({"arguments": []}, {"arguments": None}, {"more": 1}, [], 5):
        recorder.post("/v1/reactors/login", body, token=None)
    refusals(recorder, screen)
    screen.act("submit")
    for text in ("", "  ", "nonsense", "a@", " screens@example.com "):
        screen.act("setUsername", value=text)
    for text in ("", "short", "long enough"):
        screen.act("setPassword", value=text)
    screen.act("setPassword")
    screen.act("setPassword", value=1, more=2)
    screen.act("setUsername", value="x" * 70000)
    screen.get(f"If-None-Match: {screen.etag}")
    old = screen.get().etag
    stream = recorder.stream(screen.path, token=None)
    stream.events(1)
    screen.act("setUsername", f"If-Match: {old}", value="one@example.com")
    stream.events(1)
    screen.act("setUsername", f"If-Match: {old}", value="two@example.com")
    screen.act("setUsername", "Idempotency-Key: type", value="screens@example.com")
    screen.act("setUsername", "Idempotency-Key: type", value="screens@example.com")
    screen.act("setUsername", "Idempotency-Key: type", value="other@example.com")
    screen.acts([{"type": "setUsername", "payload": {"value": "kept@not.example"}}, {"type": "setPassword", "payload": {}}])
    stream.close()
    screen.act("setActive", value=False)
    screen.act("setUsername", value="unseen@example.com")
    screen.act("setActive", value=True)
    screen.act("setPassword", value="wrong password")
    screen.act("setUsername", value="screens@example.com")
    wait = recorder.start("GET", screen.path + "?wait=20", None, f"If-None-Match: {screen.etag}", token=None)
    recorder.until_waiting(1)
    # No state contains the password. Another password changes nothing, so the request continues to
    # wait.
    screen.act("setPassword", value="wrong password!")
    screen.act("setUsername", value="Screens@example.com")
    wait.response()
    timed = recorder.start("GET", screen.path, None, f"If-None-Match: {screen.etag}", "Prefer: wait=1", token=None)
    timed.response()
    screen.get(f"If-None-Match: {screen.etag}", query="?wait=0")
    screen.get(query="?wait=x")
    screen.get(query="?nonsense=1")
    quiet(recorder, screen, "submit")
    screen.until(lambda state: state.get("error") if isinstance(state, dict) else True)
    screen.act("setPassword", value=PASSWORD)
    quiet(recorder, screen, "submit")
    entered = screen.until(lambda state: state.get("session") if isinstance(state, dict) else True)
    recorder.get("/v1/me", token=entered.json("state", "session", "token"))
    recorder.get("/v1/sessions")
    screen.close('If-Match: "other"')
    stream = recorder.stream(screen.path, token=None)
    stream.events(1)
    screen.close("Idempotency-Key: close")
    stream.end()
    screen.close("Idempotency-Key: close")
    screen.close()
    screen.get()
    screen.act("submit")
    recorder.stream(screen.path, token=None).close()
    recorder.get("/v1/reactors/login/nonsense", token=None)
    recorder.get(screen.path.replace("login", "favoritesTop"))
    recorder.post("/v1/reactors/nothing", "{}")
    recorder.post("/v1/reactors/favorites", "{}")
    recorder.delete("/v1/reactors/nothing/x")


def quiet(recorder, screen, kind):
    """Sends an action whose effect takes time. Whether the response shows its result depends on
    timing."""
    recorder.pause()
    connection = recorder.connect()
    connection.send(recorder.head("POST", screen.path + "/actions", (), recorder.encoded({"type": kind, "payload": {}}),
                                  recorder.token if screen.token == "own" else screen.token))
    response = connection.response("POST")
    connection.close()
    recorder.write(f"{kind} on {screen.path}", [f"{response.status_line}"], screen.path)


def photos(recorder):
    top = opened(recorder, "favoritesTop")
    refusals(recorder, top)
    top.act("tapFavoritePhoto", row=0)
    for number in range(3):
        recorder.put(f"/v1/favorites/photo{number}", {"title": f"Photo {number}"})
    top.until(lambda state: len(state.get("favoriteIds", [])) == 3 if isinstance(state, dict) else True)
    top.act("viewWillAppear")
    for row in (0, 2, 2, 3, -1, "0", None, 1.5):
        top.act("tapFavoritePhoto", row=row)
    top.act("setActive", value=False)
    top.act("tapFavoritePhoto", row=1)
    top.act("setActive", value=True)
    top.act("setActive", value="yes")
    recent = opened(recorder, "recentFavorites")
    for row in (0, 0, 7):
        recent.act("tapPhoto", row=row)
    recent.act("viewWillAppear")
    recorder.get(top.path, token=None)
    recorder.get(top.path, "Accept-Encoding: gzip")
    recorder.ask("HEAD", top.path)
    stream = recorder.stream(top.path)
    stream.events(1)
    recorder.delete("/v1/favorites/photo1")
    stream.events(1)
    stream.close()
    recorder.stream(top.path, f"Last-Event-ID: {top.get().etag}").close()
    for arguments in (None, {}, {"photoId": ""}, {"photoId": 1}, {"photoId": "x", "more": 1}, {"photoId": "x" * 257},
                      {"photoId": "a\u0000"}, {"photoId": "unknown"}):
        opened(recorder, "photoDetail", arguments)
    opened(recorder, "photoDetail", suffix="?photoId=%zz")
    opened(recorder, "photoDetail", suffix="?photoId=photo0&photoId=x")
    opened(recorder, "photoDetail", {"photoId": "photo0"}, suffix="?photoId=photo2")
    opened(recorder, "photoDetail", {"photoId": "photo0"}, token=None)
    for language, zone in (("en", "Europe/Berlin"), ("de", "Asia/Tokyo"), ("fr", "America/New_York"), ("ja", "UTC"),
                           ("es", "Australia/Sydney"), ("en-US", "Etc/GMT+5"), ("xx", "No/Zone"), ("de-CH", "../etc/passwd")):
        recorder.patch("/v1/defaults/standard", {"language": language, "timeZone": zone})
        opened(recorder, "photoDetail", {"photoId": "photo0"})
    recorder.patch("/v1/defaults/standard", {"language": 5, "timeZone": []})
    detail = opened(recorder, "photoDetail", suffix="?photoId=photo2")
    refusals(recorder, detail)
    for favored in (False, True, False):
        quiet(recorder, detail, "toggleFavorite")
        detail.until(lambda state: state.get("isFavorite") is favored if isinstance(state, dict) else True)
        recorder.get("/v1/favorites")
    detail.act("setActive", value=False)
    detail.act("toggleFavorite")
    detail.acts([{"type": "setActive", "payload": {"value": True}}, {"type": "setActive", "payload": {"value": False}}])
    detail.act("setActive", value=True)
    recorder.put("/v1/favorites/photo2", {"title": "From elsewhere"})
    detail.until(lambda state: state.get("isFavorite") if isinstance(state, dict) else True)
    detail.act("toggleFavorite", more=1)
    recorder.post("/v1/reactors/photoDetail?photoId=photo0", "", "Idempotency-Key: open")
    recorder.post("/v1/reactors/photoDetail?photoId=photo0", "", "Idempotency-Key: open")
    recorder.post("/v1/reactors/photoDetail?photoId=photo2", "", "Idempotency-Key: open")
    for suffix in ("", "?wait=1"):
        recorder.get("/v1/reactors" + suffix, token=None)
    history(recorder)
    too_many(recorder)


def history(recorder):
    """The profile screen without an upstream."""
    screen = opened(recorder, "workingHistory")
    refusals(recorder, screen)
    screen.act("save")
    for text in ("", "  ", "x" * 201, "Example Ltd "):
        screen.act("setCompanyName", value=text)
    for text in ("", "é" * 201, " Engineer"):
        screen.act("setPosition", value=text)
    screen.act("answer", prompt="1.1", choice="retry")
    screen.act("answer", prompt=1, choice="retry")
    screen.act("answer", prompt=1, choice=2)
    screen.act("answer", prompt=1, choice="perhaps")
    quiet(recorder, screen, "save")
    screen.until(lambda state: state.get("saved") == 1 if isinstance(state, dict) else True)
    recorder.get("/v1/profile")
    recorder.patch("/v1/profile", {"position": "From elsewhere"})
    screen.until(lambda state: state.get("position") == "From elsewhere" if isinstance(state, dict) else True)
    screen.act("setPosition", value="Typed")
    recorder.patch("/v1/profile", {"position": "Not taken over", "companyName": "Taken over"})
    screen.until(lambda state: state.get("companyName") == "Taken over" if isinstance(state, dict) else True)


def too_many(recorder):
    """Opens as many screens as a session may have, and one more. Then the session ends with them."""
    token = recorder.post("/v1/sessions", {"email": "screens@example.com", "password": PASSWORD}, token=None).json("token")
    first = opened(recorder, "favoritesTop", token=token)
    for _ in range(63):
        opened(recorder, "favoritesTop", token=token)
    opened(recorder, "favoritesTop", token=token)
    recorder.get(first.path)
    stream = recorder.stream(first.path, token=token)
    stream.events(1)
    recorder.delete("/v1/sessions/current", token=token)
    stream.end()
    recorder.get(first.path, token=token)


class Upstream:
    """An upstream for profiles. It sends the given responses and records its requests."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/profiles"
        self.responses, self.requests = [], []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(65536) or b"\r\n\r\n"
                head, _, body = data.partition(b"\r\n\r\n")
                length = int((re.search(rb"(?i)content-length: *(\d+)", head) or [0, b"0"])[1])
                while len(body) < length:
                    body += connection.recv(65536)
                self.requests.append((head + b"\r\n\r\n" + body).decode())
                response = self.responses.pop(0) if self.responses else "500 Unexpected"
                if response:
                    connection.sendall(f"HTTP/1.1 {response}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())

    def close(self):
        self.socket.close()


def upstream(recorder, service):
    """The profile screen with an upstream that accepts, refuses, redirects and disconnects."""
    sign_up(recorder, "upstream")
    recorder.normalizer.literals.append((service.url.split("//")[1].split("/")[0], "<upstream>"))
    screen = opened(recorder, "workingHistory")
    screen.acts([{"type": "setCompanyName", "payload": {"value": " Example "}},
                 {"type": "setPosition", "payload": {"value": "Engineer"}}])
    saved = 0
    for number, responses in enumerate((["204 No Content"], ["503 Busy", "200 OK"], ["429 Slow down"], ["501 No"], ["422 No"], ["302 Found\r\nLocation: /x"],
                                        ["", "201 Created"], ["500 No"])):
        service.responses = list(responses)
        screen.act("setPosition", value=f"Engineer {number}")
        quiet(recorder, screen, "save")
        settled = lambda state: not isinstance(state, dict) or state.get("prompt") or state.get("saved") == saved + 1
        shown = screen.until(settled)
        if shown.json("state", "prompt") != "absent":
            prompt = shown.json("state", "prompt", "id")
            choice = "retry" if len(responses) > 1 else "cancel"
            screen.act("answer", prompt="no such", choice="retry")
            # Whether the response shows the result depends on timing.
            connection = recorder.connect()
            body = {"type": "answer", "payload": {"prompt": prompt, "choice": choice}}
            connection.send(recorder.head("POST", screen.path + "/actions", (), recorder.encoded(body)))
            recorder.write(f"the prompt is answered: {choice}", [connection.response("POST").status_line], screen.path)
            connection.close()
            if choice == "retry":
                shown = screen.until(lambda state: not isinstance(state, dict) or state.get("saved") == saved + 1)
            else:
                shown = screen.until(lambda state: not isinstance(state, dict) or not state.get("prompt"))
        saved = shown.json("state", "saved")
        recorder.get("/v1/profile")
    # Each save has a random key, which a retry sends again.
    keys = {}
    number = lambda match: f"{match[1]}<key-{keys.setdefault(match[2], len(keys) + 1)}>"
    requests = [re.sub(r"(?i)(idempotency-key: *)(\S+)", number, request) for request in service.requests]
    recorder.write("what the service was sent", requests, "/upstream")
    recorder.patch("/v1/profile", {"position": "Directly"})
