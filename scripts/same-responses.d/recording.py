"""Sends requests over raw sockets and records every byte of the responses, normalized."""

import gzip
import json
import re
import socket
import time

TIMEOUT = 10
# Cuts bodies into lines for the diff. The pieces together are the body.
CUT = re.compile(r'(?<=[,{\[])(?=["{\[])|(?<=\n)')
# The run ends after this many missing responses, because each takes as long as the timeout.
MOST_TIMEOUTS = 5


class NoServer(Exception):
    """The server does not start, or no longer responds."""


class Response:
    """A response as received."""

    def __init__(self, head=b"", body=b"", interim=(), notes=()):
        lines = head.split(b"\r\n")
        self.status_line = lines[0].decode("latin-1")
        self.fields = []
        for line in lines[1:]:
            name, _, value = line.decode("latin-1").partition(":")
            self.fields.append((name, value))
        self.body = body
        self.interim = list(interim)
        self.notes = list(notes)

    @property
    def status(self):
        parts = self.status_line.split(" ")
        return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0

    def field(self, name):
        """The first value of a header field. Without it, a text that no server sends."""
        values = [value.strip() for known, value in self.fields if known.lower() == name.lower()]
        return values[0] if values else "absent"

    def has(self, name):
        return any(known.lower() == name.lower() for known, _ in self.fields)

    @property
    def etag(self):
        return self.field("ETag")

    @property
    def cursor(self):
        return self.field("Cursor")

    def json(self, *path):
        """A member of the body. Without it, a text that no server sends."""
        try:
            value = json.loads(self.body)
            for part in path:
                value = value[part]
            return value
        except (ValueError, LookupError, TypeError):
            return "absent"


class Connection:
    """A connection to the server."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.is_closed = False

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            # The server has refused the request, but its response can still be read.
            pass

    def close(self):
        self.socket.close()
        self.is_closed = True

    def receive(self):
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionError:
            data = b""
        if not data:
            self.is_closed = True
            return False
        self.buffer += data
        return True

    def until(self, mark):
        while mark not in self.buffer:
            if not self.receive():
                raise EOFError
        part, _, self.buffer = self.buffer.partition(mark)
        return part

    def exactly(self, count):
        while len(self.buffer) < count:
            if not self.receive():
                raise EOFError
        part, self.buffer = self.buffer[:count], self.buffer[count:]
        return part

    def rest(self):
        while self.receive():
            pass
        part, self.buffer = self.buffer, b""
        return part

    def response(self, method):
        interim, notes = [], []
        try:
            while True:
                head = self.until(b"\r\n\r\n")
                if not re.match(rb"HTTP/1\.[01] 1\d\d", head):
                    break
                interim.append(head.decode("latin-1"))
        except EOFError:
            left, self.buffer = self.buffer, b""
            return Response(left, notes=["the connection ended before the head did"], interim=interim)
        except TimeoutError:
            self.close()
            return Response(notes=[f"no response in {TIMEOUT} s"], interim=interim)
        response = Response(head, interim=interim, notes=notes)
        try:
            response.body = self.body(response, method)
        except EOFError:
            response.body, self.buffer = self.buffer, b""
            response.notes.append("the connection ended before the body did")
        except TimeoutError:
            response.notes.append(f"no whole body in {TIMEOUT} s")
            self.close()
        if response.field("Connection").lower() == "close" and not self.is_closed:
            try:
                left = self.rest()
                response.notes.append("then the server closed the connection" + (f", after {left!r}" if left else ""))
            except TimeoutError:
                response.notes.append("the server announced to close the connection, and did not")
            self.close()
        return response

    def body(self, response, method):
        if method == "HEAD" or response.status in (204, 304):
            return b""
        if "chunked" in response.field("Transfer-Encoding"):
            body = b""
            while True:
                size = int(self.until(b"\r\n").split(b";")[0], 16)
                if size == 0:
                    break
                body += self.exactly(size)
                self.until(b"\r\n")
            while trailer := self.until(b"\r\n"):
                response.notes.append(f"trailer: {trailer!r}")
            return body
        if response.has("Content-Length"):
            return self.exactly(int(response.field("Content-Length")))
        return self.rest()


class Stream:
    """An event stream."""

    def __init__(self, recorder, title, connection, path, is_chunked):
        self.recorder, self.title, self.connection, self.path = recorder, title, connection, path
        self.is_chunked = is_chunked
        self.text = b""

    def _more(self):
        if not self.is_chunked:
            if not self.connection.receive():
                return False
            self.text, self.connection.buffer = self.text + self.connection.buffer, b""
            return True
        size = int(self.connection.until(b"\r\n") or b"0", 16)
        self.text += self.connection.exactly(size)
        self.connection.until(b"\r\n")
        return size > 0

    def events(self, count):
        """Reads and records this many events. Returns their texts."""
        found = []
        end = ""
        try:
            while len(found) < count:
                if b"\n\n" in self.text:
                    event, _, self.text = self.text.partition(b"\n\n")
                    found.append(event.decode())
                elif not self._more():
                    end = "the stream ended"
                    break
        except (EOFError, ValueError):
            end = "the connection ended"
        except TimeoutError:
            end = f"no event in {TIMEOUT} s"
        self.recorder.write(f"{count} events of {self.title}", found, self.path, end)
        return found

    def end(self):
        """Reads and records the stream until the server ends it."""
        end = "the stream ended"
        try:
            while self._more():
                pass
        except (EOFError, ValueError):
            end = "the connection ended"
        except TimeoutError:
            end = "the stream did not end"
        self.recorder.write(f"the end of {self.title}", [self.text.decode()] if self.text else [], self.path, end)
        self.connection.close()

    def close(self):
        self.connection.close()


class Pending:
    """A request without a response yet."""

    def __init__(self, recorder, title, request, connection, method, path):
        self.recorder, self.title, self.request = recorder, title, request
        self.connection, self.method, self.path = connection, method, path

    def response(self):
        response = self.connection.response(self.method)
        self.recorder.note(self.title, self.request, response, self.method, self.path)
        self.connection.close()
        return response


class Recorder:
    """The responses of one server in one part of the scenario."""

    def __init__(self, part, address, normalizer):
        self.part, self.address, self.normalizer = part, address, normalizer
        self.entries = []
        self.count = 0
        self.timeouts = 0
        self.token = None
        self.main = None
        self.lengths = {}
        self.kinds = set()

    # MARK: Sending

    def head(self, method, path, fields=(), body=None, token="own"):
        """Returns the bytes of a request."""
        lines = [f"{method} {path} HTTP/1.1", "Host: lockstep.example"]
        token = self.token if token == "own" else token
        if token:
            lines.append(f"Authorization: Bearer {token}")
        lines += fields
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join(lines).encode("latin-1", "surrogateescape") + b"\r\n\r\n" + (body or b"")

    @staticmethod
    def encoded(body):
        if body is None or isinstance(body, bytes):
            return body
        if isinstance(body, str):
            return body.encode()
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()

    def ask(self, method, path, body=None, *fields, token="own"):
        """Sends a request on the kept connection, and records the response."""
        request = self.head(method, path, fields, self.encoded(body), token)
        return self.raw(request, method, path)

    def get(self, path, *fields, token="own"):
        return self.ask("GET", path, None, *fields, token=token)

    def post(self, path, body, *fields, token="own"):
        return self.ask("POST", path, body, *fields, token=token)

    def put(self, path, body, *fields, token="own"):
        return self.ask("PUT", path, body, *fields, token=token)

    def patch(self, path, body, *fields, token="own"):
        return self.ask("PATCH", path, body, *fields, token=token)

    def delete(self, path, *fields, body=None, token="own"):
        return self.ask("DELETE", path, body, *fields, token=token)

    def raw(self, request, method="GET", path="/", title=None):
        """Sends these bytes on the kept connection, and records one response."""
        self.pause()
        for attempt in range(2):
            if self.main is None or self.main.is_closed:
                self.main = self.connect()
            self.main.send(request)
            response = self.main.response(method)
            # The server may have closed the idle connection.
            if not self.main.is_closed or response.status or attempt:
                break
        self.note(title or f"{method} {path}", request, response, method, path)
        return response

    @staticmethod
    def pause():
        """Waits, so that two transactions have different times: see SAME_TIME."""
        time.sleep(0.005)

    def alone(self, request, *methods, method="GET", path="/", title=None, halves=None):
        """Sends these bytes on a new connection. Records the responses and whether it stays open.

        There is one response for each method, or only one."""
        connection = self.connect()
        connection.send(request)
        if halves:
            time.sleep(0.05)
            connection.send(halves)
        responses = []
        for number, method in enumerate(methods or [method]):
            responses.append(connection.response(method))
            name = title or repr(request[:60])
            if methods:
                name += f", response {number + 1} of {len(methods)}"
            self.note(name, request + (halves or b""), responses[-1], method, path)
        if not connection.is_closed:
            connection.socket.settimeout(0.05)
            try:
                left = connection.rest()
                self.write(f"after {title or repr(request[:60])}", [repr(left)] if left else [], path, "closed")
            except TimeoutError:
                pass
        connection.close()
        return responses[-1]

    def start(self, method, path, body=None, *fields, token="own"):
        """Sends a request on a new connection, and leaves its response for later."""
        request = self.head(method, path, fields, self.encoded(body), token)
        connection = self.connect()
        connection.send(request)
        return Pending(self, f"{method} {path}, which waited", request, connection, method, path)

    def stream(self, path, *fields, token="own"):
        """Begins to read server-sent events."""
        request = self.head("GET", path, ("Accept: text/event-stream", *fields), None, token)
        connection = self.connect()
        connection.send(request)
        try:
            response = Response(connection.until(b"\r\n\r\n"))
            is_chunked = "chunked" in response.field("Transfer-Encoding")
            if response.status != 200:
                response.body = connection.body(response, "GET")
        except (EOFError, TimeoutError):
            response, is_chunked = Response(notes=["no stream"]), False
        self.note(f"GET {path}, as events", request, response, "GET", path, has_body=response.status != 200)
        return Stream(self, path, connection, path, is_chunked)

    def until_waiting(self, count):
        """Returns when this many requests wait. The metric does not count those for screens, so
        they get a fixed time."""
        connection = self.connect()
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            connection.send(self.head("GET", "/metrics", token=None))
            if f"\nlockstep_waiting_requests {count}\n".encode() in connection.response("GET").body:
                break
            time.sleep(0.005)
        connection.close()

    def connect(self):
        try:
            return Connection(self.address)
        except OSError as error:
            raise NoServer(f"the server takes no connection any more: {error}") from error

    # MARK: Recording

    def note(self, title, request, response, method, path, has_body=True):
        self.count += 1
        if not response.status and response.notes and response.notes[0].startswith("no response"):
            self.timeouts += 1
            if self.timeouts > MOST_TIMEOUTS:
                raise NoServer("the server no longer responds")
        self.kinds.add((method, self.route(path), response.status))
        normal = self.normalizer
        lines = [f"=== {self.part} {self.count}: {normal.text(title)}"]
        lines += [f"> {line}" for line in self.request_lines(request)]
        for interim in response.interim:
            lines += [f"< {line}" for line in interim.split("\r\n")] + ["<"]
        lines.append(f"< {response.status_line}")
        for name, value in response.fields:
            lines.append(f"< {name}:{self.field(name, value, response, method, path)}")
        if has_body:
            lines += self.body_lines(response, path)
        lines += [f"({normal.text(note)})" for note in response.notes]
        self.entries.append(lines)

    def write(self, title, texts, path, end=""):
        """Records an observation that is not a response."""
        self.count += 1
        lines = [f"=== {self.part} {self.count}: {self.normalizer.text(title)}"]
        for text in texts:
            lines += self.pieces(self.normalizer.body(text, path))
            lines.append("--")
        if end:
            lines.append(f"({end})")
        self.entries.append(lines)

    @staticmethod
    def route(path):
        """The form of a path for --coverage."""
        parts = path.partition("?")[0].split("/")
        for index, part in enumerate(parts):
            before = parts[index - 1] if index else ""
            if (before in ("favorites", "sessions", "problems", "registered") or
                    (index == 4 and parts[2:3] in (["defaults"], ["reactors"])) or
                    (index == 3 and parts[2:3] in (["defaults"], ["reactors"]))) and part:
                parts[index] = "{}"
        return "/".join(parts)

    def request_lines(self, request):
        head, _, body = request.partition(b"\r\n\r\n")
        lines = [self.normalizer.text(line) for line in head.decode("latin-1").split("\r\n")]
        # The length varies with the body.
        lines = [re.sub(r"^(Content-Length): \d+$", r"\1: …", line) for line in lines]
        if body:
            text = self.normalizer.text(body.decode("utf-8", "backslashreplace"))
            lines.append(text)
        lines = [visible(line) for line in lines]
        return [line if len(line) < 400 else f"{line[:200]}… ({len(line)} characters)" for line in lines]

    def field(self, name, value, response, method, path):
        bare = value.removeprefix(" ")
        blank = value[: len(value) - len(bare)]
        if name.lower() != "content-length":
            return blank + self.normalizer.field(name, bare)
        # The length varies with the body. Record whether it is correct.
        if method == "HEAD" or response.status == 304:
            # Metrics and compressed bodies have a different length each time.
            varies = path.startswith("/metrics") or response.has("Content-Encoding")
            known = None if varies else self.lengths.get(path)
            return blank + ("<that of GET>" if known == bare else "<length>" if known is None else f"<not {known}>")
        if method == "GET" and not response.has("Content-Encoding"):
            self.lengths[path] = bare
        return blank + ("<that of the body>" if bare == str(len(response.body)) else bare)

    def body_lines(self, response, path):
        body, lines = response.body, []
        if response.field("Content-Encoding") == "gzip":
            try:
                lines.append(f"  gzip with the head {body[:10].hex()}, unpacked:")
                body = gzip.decompress(body)
            except (OSError, EOFError) as error:
                return lines + [f"  which cannot be unpacked: {error}"]
        text = body.decode("utf-8", "backslashreplace")
        text = metrics(text) if path.startswith("/metrics") and response.status == 200 else text
        return lines + self.pieces(self.normalizer.body(text, path)) if text else lines

    @staticmethod
    def pieces(text):
        return ["  " + visible(piece) for piece in CUT.split(text)]


def visible(text):
    """Escapes control characters and line separators, which would break a line of the diff."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)


def metrics(text):
    """Returns the page of metrics without the values."""
    return re.sub(r"^([a-z_]+(?:\{[^\n]*\})?) \S+$", r"\1 <value>", text, flags=re.MULTILINE)
